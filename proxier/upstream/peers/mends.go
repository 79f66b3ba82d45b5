package peers

import (
	"bytes"
	"errors"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"time"

	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	proxyutil "k8s.io/kubernetes/pkg/proxy/util"
	utiliptables "k8s.io/kubernetes/pkg/util/iptables"
	"k8s.io/utils/exec"
	utilnet "k8s.io/utils/net"

	simnode "github.com/chainwalk/chainwalk/scenarios/node"
)

// Mend is something that kube-proxy does and that a mended one does otherwise, so that
// it can be asked whether a violation comes of it.
type Mend uint

// The mends, those of what chance decides first.
const (
	// SlicesInOrder takes the first slice by name of those that say something of the same endpoint.
	SlicesInOrder Mend = iota
	// ServicesInOrder has the rules of the shared chains in a fixed order.
	ServicesInOrder
	// AllCanaries has the monitor look at the canaries of all tables.
	AllCanaries
	// EmptiedChains has the monitor look at the rules that lead to kube-proxy's chains too: a flush may leave the chains.
	EmptiedChains
	// LockIsNoFlush has the monitor look again where it could not look for want of the lock.
	LockIsNoFlush
	// ReloadTriedAgain tries again what the monitor has reloaded in vain.
	ReloadTriedAgain
	// FirstTriedAgain tries the first sync again if it fails.
	FirstTriedAgain
	// LargeInFull has hourly full syncs in large clusters too.
	LargeInFull
	// SlicesMove takes the endpoints of a slice that changes its service from the former one.
	SlicesMove
	// OwnFamilyOnly leaves out addresses of the other family that a slice has.
	OwnFamilyOnly
	// AddressesNoticed asks for a sync when the node has got other addresses.
	AddressesNoticed
	// LoopbackClosed takes back route_localnet where node ports are not served at localhost.
	LoopbackClosed
	// EmptyServicesFlows deletes flows of services without endpoints.
	EmptyServicesFlows
	// DeletedServicesFlows deletes flows to what was a service's and is none's.
	DeletedServicesFlows
	// FailedSyncsFlows looks for stale flows after a sync that followed failed ones.
	FailedSyncsFlows
	// FailedLooksFlows says of a sync whose look for stale flows failed that it failed, and looks again.
	FailedLooksFlows
	// ChangedServicesFlows looks for stale flows after changes of services too.
	ChangedServicesFlows
	// OwnFlowsOnly leaves flows to other machines alone.
	OwnFlowsOnly

	mends // how many there are
)

// names are what the findings are called.
var names = [mends]string{
	"duplicates-by-chance", "conflicts-by-chance", "flush-of-one-table", "flush-that-leaves-chains",
	"held-lock-taken-for-flush", "failed-reload-forgotten",
	"failed-start-forgotten", "large-cluster-not-written-hourly", "slice-loses-its-service", "address-of-other-family",
	"node-addresses-not-noticed", "loopback-opened-by-restart",
	"flows-of-service-without-endpoints", "flows-of-deleted-service", "flows-forgotten-by-failed-sync", "conntrack-failure-forgotten",
	"flows-of-changed-service", "flows-of-other-machines",
}

// String is the name of the finding.
func (m Mend) String() string { return names[m] }

// Mends is a set of them.
type Mends uint32

// AllMends is the set of all.
func AllMends() Mends { return 1<<mends - 1 }

// ByChance is the set of those of what chance decides.
func ByChance() Mends { return MendsOf(SlicesInOrder, ServicesInOrder) }

// MendsOf is the set of some.
func MendsOf(list ...Mend) Mends {
	var set Mends
	for _, m := range list {
		set |= 1 << m
	}
	return set
}

// Has says whether a mend is in the set.
func (s Mends) Has(m Mend) bool { return s>>m&1 == 1 }

// List are the mends of the set.
func (s Mends) List() []Mend {
	var out []Mend
	for ; s != 0; s &= s - 1 {
		out = append(out, Mend(bits.TrailingZeros32(uint32(s))))
	}
	return out
}

// String are the names of the findings.
func (s Mends) String() string {
	var out []string
	for _, m := range s.List() {
		out = append(out, m.String())
	}
	return strings.Join(out, "+")
}

// Mended is Process with some things mended.
func Mended(set Mends) simnode.Proxier {
	return func(p simnode.Process) (simnode.Proxy, []string, error) { return newProcess(p, set) }
}

// gone says whether the error of who saw no canary means that there is none.
func (m *monitor) gone(err error) bool {
	var exit exec.ExitError
	return !isResourceError(err) && !(m.mends.Has(LockIsNoFlush) && errors.As(err, &exit) && exit.ExitStatus() == 4)
}

// looksAt are the tables whose canaries the monitor looks at.
func (m *monitor) looksAt() []utiliptables.Table {
	if m.mends.Has(AllCanaries) {
		return canaryTables
	}
	return canaryTables[:1]
}

// emptied says whether a table that had rules of kube-proxy's when it was looked at last has none any more, though its chains are there.
func (m *monitor) emptied() bool {
	return m.mends.Has(EmptiedChains) && slices.ContainsFunc(m.ruled, func(table utiliptables.Table) bool { return !m.hasRules(table) })
}

// learn notes which tables have rules of kube-proxy's now.
func (m *monitor) learn() {
	if !m.mends.Has(EmptiedChains) {
		return
	}
	m.ruled = nil
	for _, table := range canaryTables {
		if m.hasRules(table) {
			m.ruled = append(m.ruled, table)
		}
	}
}

// hasRules says whether a table has rules that lead to chains of kube-proxy's. One that cannot be seen is taken to have them.
func (m *monitor) hasRules(table utiliptables.Table) bool {
	var save bytes.Buffer
	return m.programs.SaveInto(table, &save) != nil || strings.Contains(save.String(), " -j KUBE-")
}

// mendBefore mends what a sync is about to do.
func (k *process) mendBefore(f *processFamily) {
	if k.mends.Has(LargeInFull) && f.large() && time.Since(*field[time.Time](f.proxier, "lastFullSync")) > proxyutil.FullSyncPeriod {
		f.forceFullSync()
	}
}

// mendAddresses asks for a full sync if the node has other addresses than when it was asked for one last.
func (k *process) mendAddresses(f *processFamily) error {
	if !k.mends.Has(AddressesNoticed) {
		return nil
	}
	now, err := k.process.Kernel.Network.NodeAddresses()
	if err == nil && !slices.Equal(now, f.addresses) {
		f.addresses = now
		f.forceFullSync()
		f.proxier.Sync()
	}
	return err
}

// mendLoopback closes loopback behind a sync that ended well, after which no rule sends anybody there.
func (k *process) mendLoopback() error {
	if !k.mends.Has(LoopbackClosed) || k.routesLoopback {
		return nil
	}
	return k.process.Kernel.Sysctls.Set(sysctlRouteLocalnet, 0)
}

// inOrder has the rules of the chains that all services share in the order of their services, the jump to node ports last.
func inOrder(data []byte) []byte {
	lines := strings.Split(string(data), "\n")
	places := map[string][]int{} // of each chain, the lines of its table
	order := func() {
		for _, at := range places {
			rules := make([]string, len(at))
			for i, line := range at {
				rules[i] = lines[line]
			}
			slices.SortStableFunc(rules, func(a, b string) int { return strings.Compare(commentOf(a), commentOf(b)) })
			for i, line := range at {
				lines[line] = rules[i]
			}
		}
		clear(places)
	}
	for i, line := range lines {
		if chain := sharedChain(line); chain != "" {
			places[chain] = append(places[chain], i)
		}
		if line == "COMMIT" {
			order()
		}
	}
	return []byte(strings.Join(lines, "\n"))
}

// sharedChain is the chain that a rule of a service is added to, empty if that is none that services share.
func sharedChain(line string) string {
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "-A" || strings.Contains(line, "must be the last rule") {
		return ""
	}
	switch words[1] {
	case "KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-EXTERNAL-SERVICES", "KUBE-PROXY-FIREWALL":
		return words[1]
	}
	return ""
}

// commentOf is the comment of a rule, which names its service.
func commentOf(line string) string {
	_, rest, _ := strings.Cut(line, "--comment ")
	comment, _, _ := strings.Cut(rest, " -m ")
	return comment
}

// orderedTools restore services in order.
type orderedTools struct{ utiliptables.Interface }

// RestoreAll restores in order.
func (t orderedTools) RestoreAll(data []byte, flush utiliptables.FlushFlag, counters utiliptables.RestoreCountersFlag) error {
	return t.Interface.RestoreAll(inOrder(data), flush, counters)
}

// mendedSlices are the slices that a proxier was told of, as they are and as it was told.
type mendedSlices struct {
	there, told map[types.NamespacedName]*discovery.EndpointSlice
}

// change notes that a slice is another one (nil: none) now, and says which slices the proxier is to be told of, with what it was told
// before.
func (s *mendedSlices) change(mends Mends, before, after *discovery.EndpointSlice) (changes [][2]*discovery.EndpointSlice) {
	if s.there == nil {
		s.there, s.told = map[types.NamespacedName]*discovery.EndpointSlice{}, map[types.NamespacedName]*discovery.EndpointSlice{}
	}
	at := nameOf(before, after)
	s.there[at] = after
	if after == nil {
		delete(s.there, at)
	}
	others := []types.NamespacedName{at}
	for name := range s.there {
		if name != at && mends.Has(SlicesInOrder) {
			others = append(others, name)
		}
	}
	slices.SortFunc(others, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	for _, name := range others {
		was, is := s.told[name], s.mended(mends, s.there[name])
		if name != at && sameEndpoints(was, is) {
			continue
		}
		s.told[name] = is
		changes = append(changes, [2]*discovery.EndpointSlice{was, is})
	}
	return changes
}

func nameOf(list ...*discovery.EndpointSlice) types.NamespacedName {
	i := slices.IndexFunc(list, func(s *discovery.EndpointSlice) bool { return s != nil })
	return types.NamespacedName{Namespace: list[i].Namespace, Name: list[i].Name}
}

func sameEndpoints(a, b *discovery.EndpointSlice) bool {
	return reflect.DeepEqual(a.Endpoints, b.Endpoints)
}

// mended is a slice without what is to be left out.
func (s *mendedSlices) mended(mends Mends, slice *discovery.EndpointSlice) *discovery.EndpointSlice {
	if slice == nil {
		return nil
	}
	out := slice.DeepCopy()
	out.Endpoints = slices.DeleteFunc(out.Endpoints, func(e discovery.Endpoint) bool {
		return mends.Has(OwnFamilyOnly) && otherFamily(slice, &e) || mends.Has(SlicesInOrder) && s.earlier(slice, &e)
	})
	return out
}

func otherFamily(slice *discovery.EndpointSlice, e *discovery.Endpoint) bool {
	ip := utilnet.ParseIPSloppy(e.Addresses[0])
	return ip != nil && (ip.To4() == nil) != (slice.AddressType == discovery.AddressTypeIPv6)
}

// earlier says whether a slice of the same service with the same ports and an earlier name has an endpoint too.
func (s *mendedSlices) earlier(slice *discovery.EndpointSlice, e *discovery.Endpoint) bool {
	for _, other := range s.there {
		if other.Namespace == slice.Namespace && other.Name < slice.Name && other.AddressType == slice.AddressType &&
			other.Labels[discovery.LabelServiceName] == slice.Labels[discovery.LabelServiceName] && reflect.DeepEqual(other.Ports, slice.Ports) &&
			slices.ContainsFunc(other.Endpoints, func(o discovery.Endpoint) bool {
				return utilnet.ParseIPSloppy(o.Addresses[0]).Equal(utilnet.ParseIPSloppy(e.Addresses[0]))
			}) {
			return true
		}
	}
	return false
}
