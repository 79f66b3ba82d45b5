package snapshot

import (
	"fmt"
	"maps"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// After is a snapshot of the node as it is when somebody has written rules there: was is a Host of the snapshot, and is another one of it,
// made alike, on which they were written since. No packet may have been walked through either. Rules, sets, settings and accounting
// objects that differ between the two are those of is, and connections that is has lost are gone. Everything else is as it was taken,
// also what a Host does not keep: devices with their peers, tables that are not walked, and Unread. Of chains whose order was not known,
// the order is not known afterwards either. The snapshot that was taken is not changed. It is an error if rules of a Host cannot be listed.
func After(taken *NodeSnapshot, was, is *packetsim.Host) (*NodeSnapshot, error) {
	before, err := Of(was)
	if err != nil {
		return nil, err
	}
	now, err := Of(is)
	if err != nil {
		return nil, err
	}
	c := change{taken: taken, was: before, is: now, spacesOf: [2]*netfilter.Namespace{was.Netfilter(), is.Netfilter()}}
	out := *taken
	out.Sysctls, out.IPTables, out.NFTables = c.sysctls(), c.iptables(), c.nftables()
	out.Order, out.Hooks, out.Conntrack = c.order(), c.hooks(), c.conntrack()
	if before.IPSets != now.IPSets {
		out.IPSets = now.IPSets
	}
	if !slices.Equal(before.NFAcct, now.NFAcct) {
		out.NFAcct = now.NFAcct
	}
	if err := out.check(); err != nil {
		return nil, fmt.Errorf("snapshot of %s: %w", taken.Hostname, err)
	}
	return &out, nil
}

// change is what has become of a node.
type change struct {
	taken, was, is *NodeSnapshot
	spacesOf       [2]*netfilter.Namespace // of was and is
}

func (c *change) sysctls() map[string]string {
	out := maps.Clone(c.taken.Sysctls)
	for name, value := range c.is.Sysctls {
		if c.was.Sysctls[name] == value {
			continue // where the snapshot lacks it, it is assumed on both
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = value
	}
	return out
}

// iptables are the rules as they are, and those of a backend that the Host has not, since it holds none.
func (c *change) iptables() []Rules {
	var out []Rules
	loaded := map[netfilter.Dialect]bool{}
	for _, k := range fakeipt.Kernels(c.spacesOf[1]) {
		loaded[k.Dialect()] = true
	}
	for _, r := range c.taken.IPTables {
		if !loaded[r.Dialect] {
			out = append(out, r)
		}
	}
	for _, r := range c.is.IPTables {
		of := func(o Rules) bool { return o.Dialect == r.Dialect && o.Family == r.Family }
		own := slices.IndexFunc(c.taken.IPTables, of)
		if own >= 0 && slices.Contains(c.was.IPTables, r) {
			r = c.taken.IPTables[own]
		}
		out = append(out, r)
	}
	return out
}

// nftables are the tables that are not walked, and behind them, in the order of the Host, those that are.
func (c *change) nftables() []NFTable {
	named := func(in []NFTable, t *NFTable) *NFTable {
		i := slices.IndexFunc(in, func(o NFTable) bool { return o.Family == t.Family && o.Name == t.Name })
		if i < 0 {
			return nil
		}
		return &in[i]
	}
	var out []NFTable
	for i := range c.taken.NFTables {
		if t := &c.taken.NFTables[i]; t.Rules == "" && named(c.is.NFTables, t) == nil {
			out = append(out, *t)
		}
	}
	for i := range c.is.NFTables {
		t := &c.is.NFTables[i]
		if old := named(c.was.NFTables, t); old != nil && old.Rules == t.Rules {
			t = named(c.taken.NFTables, t)
		}
		out = append(out, *t)
	}
	return out
}

// order is the order that was known, and that of the places where both backends have a chain only now.
func (c *change) order() []HookOrder {
	known, both := c.taken.knownOrder(), bothHave(fakeipt.Kernels(c.spacesOf[0]))
	out := slices.Clone(c.taken.Order)
	for _, o := range c.is.Order {
		at := place{o.Family, o.Hook, o.Table}
		_, is := known[at]
		if !is && slices.Contains(both, at) {
			continue
		}
		out = slices.DeleteFunc(out, func(old HookOrder) bool { return place{old.Family, old.Hook, old.Table} == at })
		out = append(out, o)
	}
	return out
}

// hooks are the chains of one priority, if at most one of them was there before, or their order was known: new ones come first.
func (c *change) hooks() []HookChains {
	var out []HookChains
	for _, family := range netfilter.Families() {
		for h := range netfilter.Hook(netfilter.NumHooks) {
			former := namesOf(hookedAt(c.spacesOf[0], family, h))
			for _, group := range together(hookedAt(c.spacesOf[1], family, h)) {
				list := HookChains{family, h.String(), namesOf(group)}
				old := list
				old.Chains = slices.DeleteFunc(slices.Clone(list.Chains), func(name string) bool { return !slices.Contains(former, name) })
				if len(old.Chains) < 2 || c.taken.knowsOrder(&old) {
					out = append(out, list)
				}
			}
		}
	}
	return out
}

// conntrack are the connections that were taken without those that were deleted since.
func (c *change) conntrack() []Connection {
	type key struct {
		original Tuple
		zone     conntrack.Zone
	}
	gone := map[key]bool{}
	for i := range c.was.Conntrack {
		gone[key{c.was.Conntrack[i].Original, c.was.Conntrack[i].zone()}] = true
	}
	for i := range c.is.Conntrack {
		delete(gone, key{c.is.Conntrack[i].Original, c.is.Conntrack[i].zone()})
	}
	return slices.DeleteFunc(slices.Clone(c.taken.Conntrack), func(c Connection) bool { return gone[key{c.Original, c.zone()}] })
}
