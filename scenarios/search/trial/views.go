package trial

import (
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// specifications say what nodes must do by what they know, on the network as it is now: another one when it has changed.
type specifications struct {
	cluster *scenarios.Cluster
	nodes   nodes
	network *oracle.Cluster // the cluster without its objects, as the oracle knows it
	known   []known
}

// known is the specification of what nodes know, so that it is made once.
type known struct {
	network *oracle.Cluster
	views   []*view
	spec    *oracle.Spec
}

// maxKnown is how many of them are kept: what a sync leads from and to, and what was tried.
const maxKnown = 8

// of is the specification for nodes that know the views, one for each of the nodes.
func (k *specifications) of(views []*view) *oracle.Spec {
	for i := range k.known {
		if one := &k.known[i]; one.network == k.network && slices.EqualFunc(one.views, views, (*view).same) {
			return one.spec
		}
	}
	spec := k.make(views)
	if len(k.known) == maxKnown {
		k.known = slices.Delete(k.known, 0, 1)
	}
	k.known = append(k.known, known{k.network, views, spec})
	return spec
}

// make makes one specification for all nodes that know the same of services, and one more for each other.
func (k *specifications) make(views []*view) *oracle.Spec {
	first := k.ofOne(views[0], views)
	var others map[string]*oracle.Spec
	for i, n := range k.nodes {
		if sameServices(views[i].Knowledge, views[0].Knowledge) {
			continue
		}
		if others == nil {
			others = map[string]*oracle.Spec{}
		}
		others[n.name] = k.ofOne(views[i], views)
	}
	if others == nil {
		return first
	}
	return first.With(others)
}

// ofOne is the specification of what one node knows of services, and each of itself.
func (k *specifications) ofOne(v *view, views []*view) *oracle.Spec {
	c := *k.network
	c.Nodes = slices.Clone(c.Nodes)
	for i := range c.Nodes {
		c.Nodes[i].Object, c.Nodes[i].Started, c.Nodes[i].Config = views[i].Node, views[i].started, views[i].config
		c.Nodes[i].Found = views[i].found
	}
	c.Services, c.Slices, c.ServiceCIDRs = v.Services, v.Slices, oracle.Ranges(v.ServiceCIDRs)
	return oracle.New(&c)
}

// renew takes the network as it is now.
func (k *specifications) renew() {
	k.network = plan.Of(k.cluster).Oracle(nil)
	for i, n := range k.nodes {
		if node := &k.network.Nodes[i]; n.damage.unfiltered {
			node.Filters = node.Filters || node.Filter[0].Stops() || node.Filter[1].Stops()
		}
	}
}

// addressesOf are the addresses of a node's devices.
func (k *specifications) addressesOf(n *nodeState) []netip.Addr {
	return k.network.Nodes[slices.Index(k.nodes, n)].Addresses
}

// elsewhere are the families, IPv6 or not, in which packets to some services, or to all if none are named, are to go elsewhere
// if a node's rules are made of another view. What is open may have been so already.
func (k *specifications) elsewhere(n *nodeState, tried *view, services []types.NamespacedName) map[bool]bool {
	before := k.of(k.nodes.ruled())
	after := k.of(k.nodes.views(func(o *nodeState) *view {
		if o == n {
			return tried
		}
		return o.ruled
	}))
	attempts := after.Attempts()
	if len(services) > 0 {
		attempts = after.Concerning(services...)
	}
	out := map[bool]bool{}
	for _, a := range attempts {
		was, is := before.Expect(a), after.Expect(a)
		if !was.Agrees(&is) {
			out[a.To.Addr().Is6()] = true
		}
	}
	return out
}

// moment is when packets are judged, and by what.
type moment struct {
	r *run
	// before and after are what the nodes' rules may have been made of; they are the same
	// where all syncs have ended well.
	before, after *oracle.Spec
	// tried says that syncs since may have made them of something else in between.
	tried bool
	// point is the moment within a sync; nil between syncs.
	point *scenarios.Point
}

// settled reports whether every node has the rules of its last sync.
func (m *moment) settled() bool { return m.before == m.after && !m.tried }

// moment is the present one.
func (r *run) moment() moment {
	m := moment{r: r, before: r.specs.of(r.nodes.ruled())}
	m.after = m.before
	if slices.ContainsFunc(r.nodes, func(n *nodeState) bool { return n.next != nil || len(n.tried) > 0 }) {
		m.after = r.specs.of(r.nodes.tried())
		m.tried = slices.ContainsFunc(r.nodes, func(n *nodeState) bool { return n.triedOther() })
	}
	return m
}
