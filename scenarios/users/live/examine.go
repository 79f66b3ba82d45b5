package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
	labs "github.com/chainwalk/chainwalk/scenarios/world/lab"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// Examine judges what the nodes with a snapshot do with packets by what the objects promise.
func (c *Cluster) Examine(ctx context.Context) (*Report, error) {
	e, err := c.exam()
	if err != nil {
		return nil, err
	}
	if _, err := e.look(ctx, e.split(e.errands())); err != nil {
		return nil, err
	}
	return e.report, nil
}

// look makes errands, and writes down what is wrong with those that suffer, of which it returns the number. No list of them is kept: in a
// large cluster that is broken they take more memory than the cluster.
func (e *exam) look(ctx context.Context, errands []errand) (suffer int, err error) {
	g := newGroups(e)
	e.lab.noteCourses(errands)
	err = e.judge(ctx, errands, func(s *suffering) error {
		suffer++
		return g.find(s)
	})
	if err == nil {
		err = e.doubt(errands)
	}
	if err == nil {
		err = g.allPackets(ctx)
	}
	if err != nil {
		return suffer, err
	}
	e.conclude(g)
	return suffer, nil
}

// premises are what an examination takes for given: the cluster, who is in it, and what was promised to whom.
type premises struct {
	cluster  *Cluster
	topology *scenarios.Cluster
	*directory
	spec       *oracle.Spec
	nodes      map[string]*labs.Attached
	services   map[string]bool // that there are, by NAMESPACE/NAME
	clusterIPs map[netip.Addr]bool
	anycast    map[netip.Addr]bool                // addresses that nodes have as routers of a network
	proxies    map[string]provenance.ServiceProxy // by their nodes, of those that have a snapshot
	others     map[string]string                  // those whose work is not walked, by their nodes
}

// exam is an examination.
type exam struct {
	premises
	lab    *lab // the nodes as they are
	report *Report

	hostsHealed map[string]*packetsim.Host // the nodes that kube-proxy changes when it syncs, as they are then
	rules       map[string]difference      // rules that differ from kube-proxy's, by node
	units       units

	doubters map[*packetsim.Host]*snapshot.Doubter

	intended  int // packets that rules of others stop, and that nobody was promised to come through
	policies  int // packets that rules for NetworkPolicies stop
	unheard   unheard
	selfCalls selfCalls
	masked    int // packets whose source rules of others translate, so that they end otherwise than they would with their own
}

func (c *Cluster) exam() (*exam, error) {
	e, err := c.prepared(isLive)
	if err != nil {
		return nil, err
	}
	hosts, err := e.hosts(c.hostOptions)
	if err != nil {
		return nil, err
	}
	for i := range e.topology.Nodes {
		name := e.topology.Nodes[i].Name
		report := NodeReport{Name: name, Judged: hosts[name] != nil}
		if !report.Judged {
			report.Why = oneLine(c.NoSnapshot[name])
		} else {
			found := e.proxies[name]
			report.Proxy = Proxy{Name: found.Name, Seen: found.Seen, Walked: found.InRules, Mode: found.Mode}
			rules := hosts[name].Rulesets(netfilter.IPv4)
			report.Dialect = rules[0].Dialect
			if len(rules) > 1 {
				report.Second = rules[1].Dialect
			}
		}
		e.report.Nodes = append(e.report.Nodes, report)
	}
	if err := e.noteModes(); err != nil {
		return nil, err
	}
	if e.lab, err = newLab(e.topology, e.nodes, hosts); err != nil {
		return nil, err
	}
	return e, e.compare()
}

// afterSync lends the nodes as kube-proxy would leave them: in the places of those as they are, so that there is one network.
func (e *exam) afterSync(do func(healed *lab) error) error {
	defer e.lab.Network.Exchange(e.hostsHealed)()
	return do(&lab{Lab: e.lab.Lab, segments: e.lab.segments, memory: e.lab.memory})
}

// compare lets kube-proxy sync on a copy of each node, and keeps the rules that this changed, and the copy if it is another node now.
func (e *exam) compare() error {
	e.hostsHealed, e.rules = map[string]*packetsim.Host{}, map[string]difference{}
	for _, object := range e.cluster.nodes() {
		node := e.nodes[object.Name]
		if node == nil || !e.walked(object.Name) {
			continue
		}
		host, err := newHost(node, e.cluster.hostOptions)
		if err != nil {
			return err
		}
		if err := e.cluster.heal(host, object, e.topology.Configs[object.Name]); err != nil {
			return err
		}
		have := e.lab.Network.Host(object.Name).Host
		var sum difference
		for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
			sum.add(changed(object.Name, family, have, host))
		}
		sum.index()
		e.rules[object.Name] = sum
		if len(sum.places) > 0 || !sameSettings(have, host) {
			e.hostsHealed[object.Name] = host
		}
		for i := range e.report.Nodes {
			if n := &e.report.Nodes[i]; n.Name == object.Name {
				n.Missing, n.Foreign = len(sum.missing), len(sum.foreign)
			}
		}
	}
	e.units = e.unitsOf()
	e.services, e.clusterIPs = map[string]bool{}, map[netip.Addr]bool{}
	for _, s := range e.cluster.services() {
		e.services[s.Namespace+"/"+s.Name] = true
		for _, text := range s.Spec.ClusterIPs {
			if a, ok := parse(text); ok {
				e.clusterIPs[a] = true
			}
		}
	}
	return nil
}

// prepared is an examination that has no hosts yet: the topology, the nodes with their pods, and what the objects promise. Of the nodes'
// connections it has those that are to be kept.
func (c *Cluster) prepared(keep func(*snapshot.Connection) bool) (*exam, error) {
	d, notes, err := c.draft()
	if err != nil {
		return nil, err
	}
	draft, err := d.scenario("examined")
	if err != nil {
		return nil, err
	}
	for _, a := range c.ends {
		draft.Steps = append(draft.Steps, scenarios.Step{Connect: &scenarios.Connect{From: a.String()}}) // somebody has it
	}
	resolved, err := scenarios.ResolveWith(draft, controller.New)
	if err != nil {
		return nil, err
	}
	labs.Widen(resolved, c.Snapshots)
	e := &exam{
		premises: premises{
			cluster: c, topology: resolved, directory: directoryOf(resolved), nodes: map[string]*labs.Attached{},
			proxies: map[string]provenance.ServiceProxy{}, others: map[string]string{}, anycast: map[netip.Addr]bool{},
		},
		report: &Report{Version: reportVersion, Findings: []Finding{}, Notes: notes, names: c.names},
	}
	for _, taken := range c.Snapshots {
		node := labs.Attach(taken, resolved.Pods, unlessFull(taken, keep))
		e.nodes[taken.Hostname] = node
		e.noteAnycast(node.Routes)
		e.report.Notes = append(e.report.Notes, node.Notes...)
		e.report.Notes = append(e.report.Notes, c.newerThan(taken)...)
	}
	labs.FillTunnels(resolved, e.nodes)
	if err := e.findProxies(); err != nil {
		return nil, err
	}
	e.spec = oracle.New(e.oracleCluster(plan.Of(resolved), d.objects))
	return e, nil
}

// sameSettings says whether a sync has left alone what is beside the rules: settings, and connections, which it deletes at most.
func sameSettings(before, after *packetsim.Host) bool {
	was, is := before.Config(), after.Config()
	return maps.Equal(was.Sysctls, is.Sysctls) && len(was.Conntrack) == len(is.Conntrack)
}

// hosts builds the nodes with a snapshot.
func (e *premises) hosts(optionsOf func(*snapshot.NodeSnapshot) (snapshot.HostOptions, error)) (map[string]*packetsim.Host, error) {
	out := map[string]*packetsim.Host{}
	for name, node := range e.nodes {
		host, err := newHost(node, optionsOf)
		if err != nil {
			return nil, err
		}
		out[name] = host
	}
	return out, nil
}

func newHost(node *labs.Attached, optionsOf func(*snapshot.NodeSnapshot) (snapshot.HostOptions, error)) (*packetsim.Host, error) {
	options, err := optionsOf(node.NodeSnapshot)
	if err != nil {
		return nil, err
	}
	return snapshot.NewHost(node.NodeSnapshot, options)
}

// ErrBothDialects says that a node has rules of kube-proxy of both dialects, and that nobody said which of them it writes now.
var ErrBothDialects = errors.New("both iptables backends hold rules of kube-proxy: say which one it writes")

// hostOptions say, for a node with rules of both backends, all of which are walked, which of them kube-proxy writes. No client is known to
// session affinity: what is judged is what becomes of new ones.
func (c *Cluster) hostOptions(taken *snapshot.NodeSnapshot) (snapshot.HostOptions, error) {
	options, err := c.dialectOptions(taken)
	options.Forget = provenance.RemembersClients
	return options, err
}

func (c *Cluster) dialectOptions(taken *snapshot.NodeSnapshot) (snapshot.HostOptions, error) {
	if len(taken.Dialects()) < 2 {
		return snapshot.HostOptions{Dialect: c.Dialect}, nil
	}
	if c.Dialect != "" {
		return snapshot.HostOptions{Netfilter: c.Dialect}, nil
	}
	var own netfilter.Dialect
	for i := range taken.IPTables {
		rules := &taken.IPTables[i]
		if !provenance.InSave(rules.Save) {
			continue
		}
		if own != "" && own != rules.Dialect {
			return snapshot.HostOptions{}, fmt.Errorf("snapshot of %s: %w, legacy or nft", taken.Hostname, ErrBothDialects)
		}
		own = rules.Dialect
	}
	return snapshot.HostOptions{Netfilter: own}, nil
}

// bothHave says whether both backends of a node have tables of a family.
func bothHave(host *packetsim.Host, family netfilter.Family) bool {
	rules := host.Rulesets(family)
	return len(rules) > 1 && len(rules[0].Tables) > 0 && len(rules[1].Tables) > 0
}

// oracleCluster is what the oracle judges by. The snapshots give the addresses of the nodes' devices, and the devices to
// pods.
func (e *premises) oracleCluster(p *plan.Plan, objects []manifest.Object) *oracle.Cluster {
	out := p.Oracle(slices.Concat(objects, nodeObjects(e.cluster.nodes())))
	for i := range out.Nodes {
		n := &out.Nodes[i]
		node := e.nodes[n.Name]
		if node == nil {
			continue
		}
		// A planned node has an address for its pods, which not every network plugin gives a real one.
		n.Addresses = slices.DeleteFunc(slices.Clone(n.Addresses), func(a netip.Addr) bool {
			return e.nodeAt[a] == nil && !e.isOwn(n.Name, a)
		})
		for _, device := range node.Devices {
			if provenance.HoldsServices(device.Name) {
				continue
			}
			for _, address := range device.Addresses {
				a := address.Prefix.Addr()
				if !a.IsLoopback() && !a.IsLinkLocalUnicast() && !slices.Contains(n.Addresses, a) && e.podAt[a] == nil {
					n.Addresses = append(n.Addresses, a)
				}
			}
		}
	}
	for i := range out.Pods {
		if node := e.nodes[out.Pods[i].Node]; node != nil {
			out.Pods[i].Device = node.Inlet(out.Pods[i].Name)
		}
	}
	return out
}

func nodeObjects(nodes []*corev1.Node) []manifest.Object {
	var out []manifest.Object
	for _, node := range nodes {
		out = append(out, manifest.Object{Object: node})
	}
	return out
}

// split are the errands that the given nodes alone decide. Of the others it notes why they cannot be judged.
func (e *exam) split(all []errand) (judged []errand) {
	return slices.DeleteFunc(all, func(p errand) bool {
		why := e.unknown(p.attempt)
		if why != "" {
			e.report.leaveOut(why, 1)
		}
		return why != ""
	})
}

// unknown says which node without a snapshot decides about an attempt; empty if none does.
func (e *premises) unknown(a oracle.Attempt) string {
	client := a.From
	if pod := e.pods[a.From]; pod != nil {
		client = pod.Node
	}
	if e.topology.Node(client) != nil && e.nodes[client] == nil {
		return fmt.Sprintf("from %s and its pods: there is no snapshot of it", client)
	}
	if n := e.nodeAt[a.To.Addr()]; n != nil && e.nodes[n.Name] == nil {
		return fmt.Sprintf("to addresses of %s: there is no snapshot of it", n.Name)
	}
	if a.Via != "" && e.nodes[a.Via] == nil {
		return fmt.Sprintf("from outside by %s: there is no snapshot of it", a.Via)
	}
	if node := e.decidedByOther(a); node != "" {
		return fmt.Sprintf("which %s decides: it runs %s", node, e.others[node])
	}
	return ""
}

// judge makes errands on the nodes as they are, and hands on each that suffers. It does not judge those that meet an unknown rule.
func (e *exam) judge(ctx context.Context, errands []errand, suffers func(*suffering) error) error {
	for _, p := range errands {
		if err := ctx.Err(); err != nil {
			return err
		}
		violations, err := e.judgeOne(p)
		var opaque *packetsim.OpaqueError
		if errors.As(err, &opaque) {
			e.report.leaveOut(fmt.Sprintf("which meet a rule of %s: %s", opaque.Host, opaque), 1)
			e.doubtRule(opaque)
			continue
		}
		if err != nil {
			return err
		}
		e.report.Connections++
		if len(violations) > 0 {
			if err := suffers(&suffering{errand: p, wrong: violations}); err != nil {
				return err
			}
		}
	}
	return nil
}

// heal lets our proxier start and sync over the rules of a host: what is kube-proxy's is then as it should be, and
// what is not is left as it was.
func (c *Cluster) heal(host *packetsim.Host, node *corev1.Node, config *kubeproxyconfig.KubeProxyConfiguration) error {
	own := config.DeepCopy()
	own.HostnameOverride = node.Name
	objects := slices.DeleteFunc(slices.Clone(c.Objects), func(o manifest.Object) bool { // most of them, and kube-proxy asks for none
		_, is := o.Object.(*corev1.Pod)
		return is
	})
	_, err := sim.Rules(sim.RulesInput{Objects: objects, Configuration: own, Node: node, Host: host})
	if err != nil {
		return fmt.Errorf("what kube-proxy would write on %s: %w", node.Name, err)
	}
	return nil
}
