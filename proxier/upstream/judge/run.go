package judge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// mostPackets is how many packets are walked for one family after one sync.
const mostPackets = 250

// run is a case on both proxiers.
type run struct {
	settings *cases.Settings
	objects  *cases.Objects
	history  history
	ours     side
	theirs   side
	kube     *peers.KubeProxy
	own      *peers.Chainwalk
	report   *Report
	step     int
	flows    flows
	alike    map[alike]bool
	// fresh is the host of a kube-proxy that started after the last sync, while that is compared.
	fresh *packetsim.Host
	// known are the explanations of the differences after the last sync.
	known map[v1.IPFamily]map[string]string
}

// side is one of the proxiers and the node that it runs on.
type side struct {
	peers.Peer
	host *packetsim.Host
	// base are the metrics after the last sync that was compared.
	base map[v1.IPFamily]map[string]float64
}

func newSide(peer peers.Peer) (side, error) {
	host, err := newHost(peer)
	return side{Peer: peer, host: host, base: map[v1.IPFamily]map[string]float64{}}, err
}

// Run runs a case and returns what is different after the first sync after which something is. It adds to the report.
func Run(c *cases.Case, report *Report) ([]*Difference, error) {
	r, err := start(c, report)
	if err != nil {
		return nil, err
	}
	defer r.close()
	report.Cases++
	var all []*Difference
	for i := range c.Steps {
		r.step = i
		differences := r.take(&c.Steps[i])
		for _, d := range differences {
			report.explained(d.Explanation)
		}
		all = append(all, differences...)
		if Unexplained(differences) != nil {
			return all, nil
		}
	}
	return all, nil
}

// Unexplained returns the first difference without an explanation, nil if there is none.
func Unexplained(differences []*Difference) *Difference {
	for _, d := range differences {
		if d.Explanation == "" {
			return d
		}
	}
	return nil
}

func start(c *cases.Case, report *Report) (*run, error) {
	kube, err := peers.NewKubeProxy(&c.Settings)
	if err != nil {
		return nil, err
	}
	chainwalk, err := peers.NewChainwalk(&c.Settings)
	if err != nil {
		return nil, err
	}
	r := &run{settings: &c.Settings, objects: cases.NewObjects(), history: newHistory(),
		kube: kube, own: chainwalk, report: report, flows: flows{},
		known: map[v1.IPFamily]map[string]string{}, alike: map[alike]bool{}}
	if r.ours, err = newSide(chainwalk); err != nil {
		return nil, err
	}
	if r.theirs, err = newSide(kube); err != nil {
		return nil, err
	}
	r.noteMetrics()
	return r, nil
}

// close gives up what the peers have of the real kernel.
func (r *run) close() {
	for _, s := range []side{r.ours, r.theirs} {
		if err := s.Close(); err != nil {
			panic(err) // a descriptor that is not open any longer
		}
	}
}

// take does what a step says, and compares after a sync.
func (r *run) take(step *cases.Step) []*Difference {
	r.history.note(step, r.objects)
	r.objects.Apply(step, r.ours, r.theirs)
	switch step.Do {
	case cases.Sync:
		return r.sync(peers.Peer.Sync)
	case cases.Flush:
		return r.sync(peers.Peer.Flush)
	case cases.Fail:
		r.history.failing = true
		r.ours.Fail()
		r.theirs.Fail()
	case cases.Hour:
		r.ours.Hour()
		r.theirs.Hour()
	case cases.Hold:
		r.hold()
	case cases.Release:
		r.release()
	}
	return nil
}

// foreign is a chain of somebody else.
const foreign = "FOREIGN"

// hold makes a chain that is not ours jump to the chain of a service: the one whose name is first, since the order in which
// kube-proxy makes chains is that of a Go map.
func (r *run) hold() {
	for _, family := range peers.Families {
		chain := firstServiceChain(r.ours.Kernel().Rules(peers.KernelFamily(family)))
		if chain == "" || !hasChain(r.theirs.Kernel().Rules(peers.KernelFamily(family)), "nat", chain) {
			continue
		}
		r.both(family, "-t", "nat", "-N", foreign)
		r.both(family, "-t", "nat", "-A", foreign, "-j", chain)
	}
}

func (r *run) release() {
	for _, family := range peers.Families {
		r.both(family, "-t", "nat", "-F", foreign)
	}
}

// both runs iptables on both kernels. That it has nothing to do is no error.
func (r *run) both(family v1.IPFamily, args ...string) {
	tool := "iptables"
	if family == v1.IPv6Protocol {
		tool = "ip6tables"
	}
	for _, s := range []side{r.ours, r.theirs} {
		_, _ = s.Kernel().Exec().Command(tool, args...).CombinedOutput()
	}
}

func hasChain(set netfilter.RulesetView, table, chain string) (there bool) {
	if t := set.Table(table); t != nil {
		_, there = t.Chain(chain)
	}
	return there
}

// firstServiceChain is the first, by name, that something jumps to.
func firstServiceChain(set netfilter.RulesetView) (first string) {
	table := set.Table("nat")
	if table == nil {
		return ""
	}
	for chain := range table.Chains() {
		if provenance.IsOfServicePort(chain.Name) && table.References(chain.Name) > 0 && (first == "" || chain.Name < first) {
			first = chain.Name
		}
	}
	return first
}

// sync syncs both sides and compares them.
func (r *run) sync(sync func(peers.Peer) map[v1.IPFamily]error) []*Difference {
	for _, family := range peers.Families {
		r.history.wasFull[family] = r.kube.NextIsFull(family)
	}
	r.giveFlows()
	theirErrors, ourErrors := sync(r.theirs.Peer), sync(r.ours.Peer)
	r.report.Syncs++
	var all []*Difference
	for _, family := range peers.Families {
		differences := r.compare(family, ourErrors[family], theirErrors[family])
		r.explainAll(family, differences, theirErrors[family] != nil)
		all = append(all, differences...)
	}
	r.noteMetrics()
	r.history.foreign, r.history.failing = 0, false
	return append(all, r.compareKernels()...)
}

// compareKernels compares what the real kernel and the fake one have answered to each side.
func (r *run) compareKernels() []*Difference {
	var all []*Difference
	for i, s := range []side{r.ours, r.theirs} {
		for _, text := range s.Kernels() {
			where := "calls of " + []string{"ours", "kube-proxy"}[i]
			all = append(all, &Difference{step: r.step, Kind: "kernel", where: where, ours: []string{text}})
		}
	}
	return all
}

// noteMetrics notes the values from which metrics that only grow are counted. kube-proxy's count for the whole process, to which the
// explanations add.
func (r *run) noteMetrics() {
	for _, family := range peers.Families {
		r.ours.base[family], r.theirs.base[family] = r.ours.Metrics(family), r.theirs.Metrics(family)
	}
}

// explainAll looks for an explanation of each difference. After a failed sync nothing was written: what was different still is,
// and packets go otherwise for that reason. Endpoints that are others in the rules are others in conntrack.
func (r *run) explainAll(family v1.IPFamily, differences []*Difference, failed bool) {
	known := r.known[family]
	r.known[family] = map[string]string{}
	for _, d := range differences { // rules come first
		d.step, d.family = r.step, family
		if failed {
			d.Explanation = known[d.place()]
		}
		if d.Explanation == "" {
			d.Explanation = r.explain(d, differences)
		}
		if first := differences[0]; d.Explanation == "" && (failed && d.Kind == "packets" || d.Kind == "conntrack") && first.Kind == "rules" {
			d.Explanation = first.Explanation
		}
		r.known[family][d.place()] = d.Explanation
	}
}

// compare compares what one family has after a sync.
func (r *run) compare(family v1.IPFamily, ourError, theirError error) []*Difference {
	clear(r.alike)
	large := r.kube.Large(family)
	r.history.large[family] = r.history.large[family] || large
	r.report.count(large, theirError != nil, !r.history.wasFull[family])
	// A sync that fails when the cluster is large no longer leaves the chains that wait for their deletion.
	unused := large || theirError != nil && r.history.unused[family]
	r.history.unused[family] = unused
	mode := r.settings.Mode
	rules, differences := compareRules(rulesOfPeer(mode, r.ours, family, unused), rulesOfPeer(mode, r.theirs, family, unused))
	r.report.Rules += rules
	// Where tools are made to fail and there is nothing new, kube-proxy fails to write nothing; ours, at most, to delete chains, which is
	// no failed sync.
	idle := !r.own.Wrote(family) || r.history.failing && ourError == nil && mode == cases.NFTables
	if (ourError == nil) != (theirError == nil) && !idle {
		differences = append(differences, &Difference{
			Kind: "errors", where: "sync", ours: []string{fmt.Sprint(ourError)}, theirs: []string{fmt.Sprint(theirError)},
		})
	}
	differences = append(differences, r.compareValues(family, theirError != nil)...)
	differences = append(differences, r.comparePackets(family, large, len(differences) == 0)...)
	return append(differences, r.compareFlows(family)...)
}

// comparePackets compares what becomes of packets. Affinity is looked at where all else is the same; where it is not may be
// chance, so the report does not count these packets.
func (r *run) comparePackets(family v1.IPFamily, large, same bool) []*Difference {
	most := mostPackets
	if large {
		most = 10
	}
	for _, s := range []side{r.ours, r.theirs} {
		if err := setSysctls(s.host, s.Peer); err != nil {
			panic(err)
		}
	}
	packets, differences := comparePackets(r.ours.host, r.theirs.host, r.objects, family, most)
	r.report.Packets += packets
	if large || !same || len(differences) > 0 {
		return differences
	}
	_, differences, err := r.compareAffinity(family)
	if err != nil {
		panic(err)
	}
	return differences
}

// compareValues compares metrics, health checks and settings of the kernel.
func (r *run) compareValues(family v1.IPFamily, failed bool) []*Difference {
	var differences []*Difference
	compare := func(kind string, ours, theirs map[string]string) int {
		for _, name := range slices.Sorted(maps.Keys(theirs)) {
			if ours[name] != theirs[name] {
				differences = append(differences, &Difference{Kind: kind, where: name, ours: []string{ours[name]}, theirs: []string{theirs[name]}})
			}
		}
		for _, name := range slices.Sorted(maps.Keys(ours)) {
			if _, ok := theirs[name]; !ok {
				differences = append(differences, &Difference{Kind: kind, where: name, ours: []string{ours[name]}})
			}
		}
		return len(theirs)
	}
	compare("sysctls", texts(r.ours.Sysctls()), texts(r.theirs.Sysctls()))
	if !failed {
		r.report.Health += compare("health", healthOf(r.ours, family), healthOf(r.theirs, family))
	}
	r.report.Metrics += compare("metrics", r.metricsOf(r.ours, family, failed), r.metricsOf(r.theirs, family, failed))
	return differences
}

func texts[V any](values map[string]V) map[string]string {
	all := map[string]string{}
	for name, value := range values {
		all[name] = fmt.Sprint(value)
	}
	return all
}

func healthOf(s side, family v1.IPFamily) map[string]string {
	all := map[string]string{}
	for name, h := range s.Health(family) {
		all[name.String()] = fmt.Sprintf("%+v", h)
	}
	return all
}

// metricNames are the metrics that one of the proxiers has used.
func (r *run) metricNames(family v1.IPFamily) []string {
	names := r.theirs.Metrics(family)
	maps.Copy(names, r.ours.Metrics(family))
	return slices.Sorted(maps.Keys(names))
}

// metricsOf are the values that can be compared after this sync, those that only grow as what the sync added.
func (r *run) metricsOf(s side, family v1.IPFamily, failed bool) map[string]string {
	all := map[string]string{}
	values := s.Metrics(family)
	for _, name := range r.metricNames(family) {
		if !r.comparable(name, family, failed) {
			continue
		}
		value := values[name] // 0 before its first use
		if strings.Contains(name, "failures") || isCountOfEvents(name) {
			value -= s.base[family][name]
		}
		all[name] = strconv.FormatFloat(value, 'g', -1, 64)
	}
	return all
}

// isCountOfEvents says whether a metric counts what the API server tells, whatever becomes of it.
func isCountOfEvents(name string) bool { return strings.Contains(name, "_changes_total") }

// comparable says whether both must have the same value after this sync. Where there is nothing new, ours does not run the tool
// and cannot fail; where both ran it but only one wrote everything, what was written and what failed are other things.
// After a failed sync kube-proxy counts the rules that it could not write.
func (r *run) comparable(name string, family v1.IPFamily, failed bool) bool {
	ours, theirs := r.own.WasFull(family), r.history.wasFull[family]
	otherMode := "nftables"
	if r.settings.Mode == cases.NFTables {
		otherMode = "iptables"
	}
	switch {
	case strings.Contains(name, otherMode): // of cases that ran before in this process
		return false
	case isCountOfEvents(name):
		return true
	case strings.Contains(name, "partial_restore_failures"):
		return r.own.Wrote(family) && ours == theirs
	case strings.Contains(name, "restore_failures"):
		return r.own.Wrote(family)
	case strings.Contains(name, "iptables_last"):
		return ours && theirs && !failed
	}
	return !failed
}
