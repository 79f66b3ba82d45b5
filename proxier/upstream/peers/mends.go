package peers

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	proxyutil "k8s.io/kubernetes/pkg/proxy/util"

	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	simnode "github.com/chainwalk/chainwalk/scenarios/world/node"
)

// Mend is something that kube-proxy does and that a mended one does otherwise, so that
// it can be asked whether a violation comes of it. It changes that and nothing else: looks of its own
// meet no fault that is meant for kube-proxy, and it does nothing where there is nothing to mend.
type Mend uint

// The mends, in the order in which they are tried: those of costs, of what chance decides, of rules, of connections.
const (
	// SameNotRestored leaves out of restores the chains that stand as they would be written.
	SameNotRestored Mend = iota
	// SameNotLookedFor does not look for stale flows where no UDP service and none of its endpoints has changed since the last look.
	SameNotLookedFor
	// SameNotTold does not tell of slices that say the same as before.
	SameNotTold
	// SlicesInOrder takes the last slice by name of those that say something of the same endpoint, as this project does.
	SlicesInOrder
	// ServicesInOrder has the rules of the shared chains in a fixed order.
	ServicesInOrder
	// AddressesOnce gives an address and port that several services of mode nftables claim to one of them alone (mendedServices).
	AddressesOnce
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
	// AddressesNoticed asks for a sync when the node has got other addresses for node ports.
	AddressesNoticed
	// LoopbackClosed takes back route_localnet where node ports are not served at localhost.
	LoopbackClosed
	// EmptyServicesFlows deletes flows of services without endpoints: since v1.37 those to node ports are left.
	EmptyServicesFlows
	// DeletedServicesFlows deletes flows to what was a service's and is none's.
	DeletedServicesFlows
	// FailedSyncsFlows looks for stale flows after a sync that followed failed ones.
	FailedSyncsFlows
	// FailedLooksFlows says of a sync whose look for stale flows failed that it failed, and looks again.
	FailedLooksFlows
	// ChangedServicesFlows looks for stale flows after changes of UDP services too.
	ChangedServicesFlows
	// OwnFlowsOnly leaves flows to other machines alone.
	OwnFlowsOnly
	// EchoPasses has the rule of mode nftables for ports that no service has be for protocols that have ports.
	EchoPasses
	// HairpinOfUnplaced has mode nftables masquerade endpoints that reach themselves though no slice says which node they are on.
	HairpinOfUnplaced
	// TableWatched looks whether somebody has deleted the table of mode nftables.
	TableWatched
	// CIDRsFollowed has a full sync when ServiceCIDRs change, as mode nftables writes them in none else.
	CIDRsFollowed
	// EmptyChainsDeleted has mode nftables delete chains that are out of use at once, and not in the sync after the next change.
	EmptyChainsDeleted
	// CommentsFollow has elements of mode nftables have the name that their service port has now as their comment.
	CommentsFollow
	// AffinityFollows has mode nftables make the sets of clients anew if their timeout changes.
	AffinityFollows

	mends // how many there are
)

// finding is what a mend is there to explain.
type finding struct {
	name string
	// breaks says which clauses may be broken by it. A violation of another clause is not explained, whatever becomes of it with the mend.
	breaks func(*oracle.Clause) bool
}

// findings has the finding that each mend explains.
var findings = [mends]finding{
	SlicesInOrder:        {"duplicates-by-chance", late},
	ServicesInOrder:      {"conflicts-by-chance", late},
	AddressesOnce:        {"shared-address", late},
	AllCanaries:          {"flush-of-one-table", late},
	EmptiedChains:        {"flush-that-leaves-chains", late},
	LockIsNoFlush:        {"held-lock-taken-for-flush", late},
	ReloadTriedAgain:     {"failed-reload-forgotten", late},
	FirstTriedAgain:      {"failed-start-forgotten", late},
	LargeInFull:          {"large-cluster-not-written-hourly", late},
	SlicesMove:           {"slice-loses-its-service", ofRules},
	OwnFamilyOnly:        {"address-of-other-family", ofRules},
	AddressesNoticed:     {"node-addresses-not-noticed", late},
	LoopbackClosed:       {"loopback-opened-by-restart", ofRules},
	EmptyServicesFlows:   {flowsWithoutEndpoints, ofFlows},
	DeletedServicesFlows: {"flows-of-deleted-service", looks},
	FailedSyncsFlows:     {"flows-forgotten-by-failed-sync", ofFlows},
	FailedLooksFlows:     {"conntrack-failure-forgotten", ofFlows},
	ChangedServicesFlows: {"flows-of-changed-service", looks},
	OwnFlowsOnly:         {"flows-of-other-machines", ofFlows},
	EchoPasses:           {"echo-request-refused", ofFlows},
	HairpinOfUnplaced:    {"endpoint-without-node-name", ofFlows},
	TableWatched:         {"deleted-table-not-noticed", late},
	CIDRsFollowed:        {"service-cidrs-wait", late},
	EmptyChainsDeleted:   {"empty-chains-wait", among(oracle.NoStaleChain, oracle.SecondSyncWritesNothing)},
	CommentsFollow:       {"comment-kept", among(oracle.RestartEqualsFresh, oracle.PartialEqualsFull, oracle.OrderDoesNotMatter)},
	AffinityFollows:      {"affinity-timeout-kept", ofFlows},
	SameNotRestored:      {"restores-for-nothing", among(oracle.SecondSyncWritesNothing, oracle.CostByChange)},
	SameNotLookedFor:     {"looks-for-nothing", among(oracle.CostByChange)},
	SameNotTold:          {"syncs-for-nothing", among(oracle.NoSyncForNothing)},
}

// costs are the clauses of what is done for nothing.
var costs = []*oracle.Clause{oracle.SecondSyncWritesNothing, oracle.CostByChange, oracle.NoSyncForNothing}

// ofRules says whether rules that are missing, left over or other ones can break a clause: each but those of costs.
func ofRules(c *oracle.Clause) bool { return !slices.Contains(costs, c) }

// late says whether rules that are not written in time can break a clause: also that of syncs for which nothing has changed, as one of
// them writes them then.
func late(c *oracle.Clause) bool { return ofRules(c) || c == oracle.SecondSyncWritesNothing }

// ofFlows says whether entries of conntrack can break a clause, which are in no rule.
func ofFlows(c *oracle.Clause) bool {
	return ofRules(c) && !among(
		oracle.RulesReadBack, oracle.NoStaleChain, oracle.PartialEqualsFull, oracle.WalkBounded, oracle.SyncWhenDue, oracle.HealthCheckAgrees,
	)(c)
}

// looks says whether a look for stale flows that comes with the next event, and not with the change that asks for it, can break a clause.
func looks(c *oracle.Clause) bool { return ofFlows(c) || c == oracle.CostByChange }

func among(list ...*oracle.Clause) func(*oracle.Clause) bool {
	return func(c *oracle.Clause) bool { return slices.Contains(list, c) }
}

// String is the name of the finding.
func (m Mend) String() string { return findings[m].name }

// breaks says whether what is mended can break a clause.
func (m Mend) breaks(c *oracle.Clause) bool { return findings[m].breaks(c) }

// Mends is a set of them.
type Mends uint32

// Placebo mends nothing, by all the ways that mends take. What does not come up with it comes up by chance alone.
const Placebo Mends = 1 << mends

// AllMends is the set of all.
func AllMends() Mends { return 1<<mends - 1 }

// MendsOf is the set of some.
func MendsOf(list ...Mend) Mends {
	var set Mends
	for _, m := range list {
		set |= 1 << m
	}
	return set
}

// And stands between the names of several mends.
const And = "+"

// MendsNamed is the set that String writes so. Names that there are not are an error.
func MendsNamed(text string) (Mends, error) {
	var set Mends
	for name := range strings.SplitSeq(text, And) {
		i := slices.IndexFunc(findings[:], func(f finding) bool { return f.name == name })
		if i < 0 {
			return 0, fmt.Errorf("there is no mend %q", name)
		}
		set |= MendsOf(Mend(i))
	}
	return set, nil
}

// Costs is the set of those that explain what costs time and changes no packet. They are tried first.
func Costs() Mends { return MendsOf(SameNotRestored, SameNotLookedFor, SameNotTold) }

// Doing is the set of those that do something to a kube-proxy of mode iptables, or of mode nftables.
func Doing(nftables bool) Mends {
	if nftables {
		return AllMends() &^ MendsOf(ServicesInOrder, AllCanaries, EmptiedChains, LockIsNoFlush, ReloadTriedAgain, LargeInFull)
	}
	return AllMends() &^ MendsOf(
		AddressesOnce, EchoPasses, HairpinOfUnplaced, TableWatched, CIDRsFollowed, EmptyChainsDeleted, CommentsFollow, AffinityFollows,
	)
}

// Breaking is the set of those whose findings can break a clause.
func Breaking(c *oracle.Clause) Mends {
	var set Mends
	for _, m := range AllMends().List() {
		if m.breaks(c) {
			set |= MendsOf(m)
		}
	}
	return set
}

// has says whether a mend is in the set.
func (s Mends) has(m Mend) bool { return s>>m&1 == 1 }

// List are the mends of the set.
func (s Mends) List() []Mend {
	var out []Mend
	for s &= AllMends(); s != 0; s &= s - 1 {
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
	return strings.Join(out, And)
}

// Mended is Process with some things mended.
func Mended(set Mends) simnode.Proxier {
	return func(p simnode.Process) (simnode.Proxy, []string, error) { return newServer(p, set) }
}

// mendBefore mends what a sync is about to do.
func (k *process) mendBefore(f *processFamily) {
	if k.mends.has(LargeInFull) && f.large() && time.Since(*field[time.Time](f.proxier, "lastFullSync")) > proxyutil.FullSyncPeriod {
		f.forceFullSync()
	}
}

// mendAddresses asks for a full sync if kube-proxy would find other addresses of the node than when it was asked for one last.
func (k *process) mendAddresses(f *processFamily) error {
	if !k.mends.has(AddressesNoticed) {
		return nil
	}
	now, err := k.nodePortIPs(f)
	if err == nil && !slices.Equal(now, f.addresses) {
		f.addresses = now
		f.forceFullSync()
		f.proxier.Sync()
	}
	return err
}

// nodePortIPs are the node's addresses that rules of node ports name, sorted; none if node ports are at all addresses, which rules find out
// for each packet. Other addresses come and go with pods: a device has that of the pods' gateway.
func (k *process) nodePortIPs(f *processFamily) (out []string, err error) {
	ranges := *field[*proxyutil.NodePortAddresses](f.proxier, "nodePortAddresses")
	if ranges.MatchAll() {
		return nil, nil
	}
	ips, err := ranges.GetNodeIPs(processNetwork{k.process.Kernel.Network})
	for _, ip := range ips {
		out = append(out, ip.String())
	}
	slices.Sort(out)
	return out, err
}

// mendLoopback closes loopback behind a sync that ended well, after which no rule sends anybody there.
func (k *process) mendLoopback() error {
	if !k.mends.has(LoopbackClosed) || k.routesLoopback {
		return nil
	}
	return k.process.Kernel.Sysctls.Set(sysctlRouteLocalnet, 0)
}
