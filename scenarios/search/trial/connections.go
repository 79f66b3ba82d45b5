package trial

import (
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// connections are the kept connections, and what nodes may remember of clients.
type connections struct {
	flows    []*flow
	affinity oracle.Affinity
	// sticky says that a connection was kept, so that a service may remember its client.
	sticky bool
	// told is what the nodes knew when the connections were last told of it.
	told []*view
}

// idle lets time pass in which none of them sends.
func (c *connections) idle(d time.Duration) {
	for _, f := range c.flows {
		f.judged.Idle(d)
	}
}

// restarted tells them that the proxier of a node begins.
func (c *connections) restarted(node string) {
	for _, f := range c.flows {
		f.judged.Restarted(node)
	}
}

// synced tells the connections what all nodes know now, but for those whose proxiers have not synced since they started.
func (c *connections) synced(s *oracle.Spec, all nodes) {
	c.affinity.Synced(s)
	c.told = all.ruled()
	var synced []string
	for _, n := range all {
		if !n.fresh() {
			synced = append(synced, n.name)
		}
	}
	if len(synced) == 0 {
		return
	}
	for _, f := range c.flows {
		if service := s.Expect(f.attempt).Service; service.Name != "" {
			f.service = service // another one may have the address by now
		}
		f.unsure = false
		f.judged.Synced(s, synced...)
	}
}

// tried tells the connections what syncs may have made rules of that did not end well beyond doubt.
func (c *connections) tried(s *oracle.Spec) {
	c.affinity.Synced(s) // what may have been out of use for a while may be forgotten
	for _, f := range c.flows {
		f.judged.Tried(s)
	}
}

// keeps reports whether a connection of a service is kept already; again: one to the same place.
func (c *connections) keeps(a oracle.Attempt, service types.NamespacedName, again bool) bool {
	return slices.ContainsFunc(c.flows, func(f *flow) bool {
		return f.service == service && f.attempt.Protocol == a.Protocol && (!again || service.Name == "" || f.attempt.To == a.To)
	})
}

// addressesChanged notes that these addresses have gone, or are somebody else's.
func (c *connections) addressesChanged(addresses []netip.Addr) {
	for _, f := range c.flows {
		way := f.sender.Way()
		for _, end := range []netip.AddrPort{way.Server, way.Sender, way.Client} {
			f.unsure = f.unsure || slices.Contains(addresses, end.Addr())
		}
		f.over = f.over || slices.Contains(addresses, way.Sender.Addr())
	}
}

// concerned are the services about which nodes know something else than the connections were told, or have known so since, in a sync
// that ended well, or may have; everything says that it may be all of them.
func (c *connections) concerned(all nodes) (services []types.NamespacedName, everything bool) {
	for i, last := range all.tried() {
		n := all[i]
		for _, known := range append(slices.Clip(n.tried), n.ruled, last) {
			everything = everything || n.fresh() || !c.told[i].sameNode(known)
			services = append(services, changed(c.told[i].Knowledge, known.Knowledge)...)
		}
	}
	return services, everything
}

// forget notes that nobody can say what nodes remember of clients.
func (c *connections) forget(all nodes) {
	for _, n := range all {
		c.affinity.Forget(n.name)
	}
}
