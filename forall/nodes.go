package forall

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

// Node is a host that packets may go through, and what it is called in the ways of fates.
type Node struct {
	Name string
	Host *packetsim.Host
}

// mostNodes is how many nodes a packet is followed through. What passes more goes in circles.
const mostNodes = 4

// tooMany is why the fate of a packet is not known that passes more.
const tooMany = "a packet that goes from node to node and does not arrive"

// entrance is where a packet comes in that leaves another node: the device of a node on the same link.
type entrance struct {
	node   int
	device string
	owns   []netip.Addr // the next hops whose packets come in there
}

// entrances are where packets come in that leave nodes by devices: those on one network with the device.
type entrances struct {
	nodes  []Node
	family netfilter.Family
	known  map[[2]string][]entrance // by node and device
}

func newEntrances(nodes []Node, family netfilter.Family) *entrances {
	return &entrances{nodes, family, map[[2]string][]entrance{}}
}

// of are the entrances behind a device of a node.
func (e *entrances) of(node int, device string) []entrance {
	key := [2]string{e.nodes[node].Name, device}
	if found, known := e.known[key]; known {
		return found
	}
	var found []entrance
	dev, _ := e.nodes[node].Host.Device(device)
	for other := range e.nodes {
		if by := e.sharing(&dev, other); other != node && by != "" {
			found = append(found, entrance{other, by, e.owned(other, by)})
		}
	}
	e.known[key] = found
	return found
}

// sharing is the device of a node that is on one network with a device of another one; empty: none is.
func (e *entrances) sharing(dev *packetsim.Device, node int) string {
	for _, d := range e.nodes[node].Host.Config().Devices {
		for i := range d.Addresses {
			for k := range dev.Addresses {
				a, b := d.Addresses[i].Prefix, dev.Addresses[k].Prefix
				if e.is(a.Addr()) && a.Contains(b.Addr()) && b.Contains(a.Addr()) && a.Addr() != b.Addr() {
					return d.Name
				}
			}
		}
	}
	return ""
}

// is says whether an address is one that neighbours ask for, of the family.
func (e *entrances) is(a netip.Addr) bool {
	return a.Is6() == (e.family == netfilter.IPv6) && !a.IsLoopback() && !a.IsLinkLocalUnicast()
}

// owned are the addresses for which a node answers on a device: all of its own of IPv4 (arp_ignore is 0), the device's of IPv6.
func (e *entrances) owned(node int, device string) (all []netip.Addr) {
	h := e.nodes[node].Host
	for _, d := range h.Config().Devices {
		for i := range d.Addresses {
			a := d.Addresses[i].Prefix.Addr()
			if e.is(a) && h.IsLocal(a) && (d.Name == device || a.Is4()) {
				all = append(all, a)
			}
		}
	}
	return all
}

// joint is nodes, each with the states in which packets get somewhere there, and the store in which they are joined.
type joint struct {
	*entrances
	w      *world
	by     []*builder
	roots  []diagram.ID
	ignore Part
	inside map[insideKey]diagram.ID
}

// insideKey is a packet that comes to a node by a device and may pass so many more.
type insideKey struct {
	node   int
	device string
	more   int
}

// nodes are the host itself and those that packets may go on through.
func (o *Options) nodes(host *packetsim.Host) []Node {
	return append([]Node{{o.Name, host}}, o.Through...)
}

// check refuses what is not worked out together.
func (o *Options) check(classes []Class) error {
	isNew := slices.Equal(classes, []Class{New})
	switch {
	case o.Replies && !isNew:
		return errors.New("replies: want the class new alone, of whose packets they are")
	case len(o.Through) > 0 && (!isNew || o.Replies):
		return errors.New("several nodes: want the class new alone, and no replies")
	}
	return nil
}

// through is the fates of all packets that come to the first node.
func (b *builder) through(o *Options, host *packetsim.Host) (diagram.ID, error) {
	family := netfilter.IPv4
	if b.six {
		family = netfilter.IPv6
	}
	nodes := o.nodes(host)
	j := &joint{entrances: newEntrances(nodes, family), w: b.w, ignore: o.Ignore, inside: map[insideKey]diagram.ID{}}
	for i, n := range nodes {
		by := b
		if i > 0 {
			t, err := n.Host.Terrain(family)
			if err != nil {
				return 0, err
			}
			w := newWorld(b.six, deviceNames(t))
			w.store.BoundAs(b.s)
			by = newBuilder(w, w.store, t, New, o)
		}
		by.ends = asStates
		j.by, j.roots = append(j.by, by), append(j.roots, by.root())
	}
	first := b.s.Rename(j.roots[0], func(a diagram.Atom) diagram.Atom {
		if a >= 0 {
			return a
		}
		return b.w.fate(b.w.fateOf(a).on(o.Name))
	})
	return j.onward(0, first, mostNodes-1), nil
}

func deviceNames(t *packetsim.Terrain) (names []string) {
	for _, d := range t.Devices() {
		names = append(names, d.Name)
	}
	return names
}

// onward puts what comes behind a node in the place of the states in which packets leave it.
func (j *joint) onward(node int, root diagram.ID, more int) diagram.ID {
	return j.w.store.Replace(root, func(a diagram.Atom) diagram.ID {
		_, end := j.by[node].stateOf(a)
		return j.leave(node, &end, more)
	})
}

// leave is what becomes of a packet behind a node, as a function of the packet as it came to that node.
func (j *joint) leave(node int, end *state, more int) diagram.ID {
	b, s, out := j.by[node], j.w.store, ""
	if end.out != 0 {
		out = b.w.devices[end.out-1]
	}
	fate := b.fateAt(end, out).on(j.nodes[node].Name)
	here := s.One(j.w.fate(fate.without(j.ignore)))
	if out == "" {
		return here
	}
	hop := b.way(end).NextHop
	if !hop.IsValid() {
		hop = fate.Dst
	}
	for _, e := range j.of(node, out) {
		var to []diagram.Interval
		for _, a := range e.owns {
			to = append(to, diagram.Point(valueOf(a)))
			if a == hop {
				return j.follow(&fate, end, &e, more)
			}
		}
		if hop.IsValid() {
			continue
		}
		others := here
		here = s.Replace(s.Choose(vDst, diagram.SetOf(to...), s.One(yes), s.One(no)), func(a diagram.Atom) diagram.ID {
			if a == yes {
				return j.follow(&fate, end, &e, more)
			}
			return others
		})
	}
	return here
}

// follow is what becomes of a packet that comes in at an entrance, as a function of the packet as it came to the node before.
func (j *joint) follow(before *Fate, end *state, e *entrance, more int) diagram.ID {
	s := j.w.store
	if more == 0 {
		return s.One(j.w.fate(Fate{Unmodelled: tooMany}))
	}
	behind := s.Fix(j.comes(e, more-1), func(v diagram.Var) (diagram.Value, bool) {
		switch {
		case v == vDst && before.Dst.IsValid():
			return valueOf(before.Dst), true
		case v == vDstPort && before.DstPort != 0:
			return diagram.Number(uint64(before.DstPort)), true
		case v == vSrc && before.Src.IsValid():
			return valueOf(before.Src), true
		}
		return diagram.Value{}, false
	})
	if end.anyPort {
		behind = s.Without(behind, vSrcPort, s.One(j.w.fate(Fate{Unmodelled: "a source port that the kernel of the node before chose"})))
	}
	return s.Rename(behind, func(a diagram.Atom) diagram.Atom {
		f := j.w.fateOf(a)
		if f.Unmodelled != "" {
			return a
		}
		return j.w.fate(f.behind(before).without(j.ignore))
	})
}

// comes is what becomes of a packet that comes in at an entrance.
func (j *joint) comes(e *entrance, more int) diagram.ID {
	key := insideKey{e.node, e.device, more}
	if made, known := j.inside[key]; known {
		return made
	}
	b := j.by[e.node]
	in := diagram.Number(uint64(b.number[e.device]))
	root := b.s.Fix(j.roots[e.node], func(v diagram.Var) (diagram.Value, bool) { return in, v == vIn })
	as := func(a diagram.Atom) diagram.Atom {
		if a >= 0 {
			return a
		}
		return j.w.fate(b.w.fateOf(a).on(j.nodes[e.node].Name))
	}
	t := newTaking(j.w, b.w, as)
	t.of = " on " + j.nodes[e.node].Name
	made := j.onward(e.node, t.take(root), more)
	j.inside[key] = made
	return made
}

// on is a fate with the node where it is the packet's.
func (f Fate) on(node string) Fate {
	if f.Unmodelled == "" {
		f.Way = node
	}
	return f
}

// behind is a fate on one node as that of the packet as it came to the node before.
func (f Fate) behind(before *Fate) Fate {
	f.Way = before.Way + " > " + f.Way
	if f.Verdict != packetsim.Accept {
		return f
	}
	if !f.Dst.IsValid() {
		f.Dst = before.Dst
	}
	if f.DstPort == 0 {
		f.DstPort = before.DstPort
	}
	if !f.Src.IsValid() {
		f.Src = before.Src
	}
	return f
}
