package forall

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Fates are what becomes of all packets of some families and classes on a host. They are not safe for concurrent use.
type Fates struct {
	host    *packetsim.Host
	options Options
	parts   []part // by family, then class
}

// part is the fates of a family and a class.
type part struct {
	family netfilter.Family
	class  Class
	world  *world
	root   diagram.ID
	// terrain has the rules that they are of; nil: it is not known.
	terrain *packetsim.Terrain
}

// Of works out the fates of all packets on a host as it is now.
func Of(h *packetsim.Host, o Options) (*Fates, error) {
	f := &Fates{host: h, options: o}
	families, classes := o.Families, o.Classes
	if len(families) == 0 {
		families = []netfilter.Family{netfilter.IPv4, netfilter.IPv6}
	}
	if len(classes) == 0 {
		classes = []Class{New}
	}
	if err := o.check(classes); err != nil {
		return nil, err
	}
	for _, family := range families {
		if family != netfilter.IPv4 && family != netfilter.IPv6 {
			return nil, fmt.Errorf("family %d: want IPv4 or IPv6", family)
		}
		t, err := h.Terrain(family)
		if err != nil {
			return nil, err
		}
		names := deviceNames(t)
		for _, class := range classes {
			if int(class) >= len(classNames) {
				return nil, fmt.Errorf("%s: want one of those that have a name", class)
			}
			made := part{family: family, class: class, world: f.worldFor(family, class, names), terrain: t}
			if made.root, err = f.rootIn(&made); err != nil {
				return nil, err
			}
			f.parts = append(f.parts, made)
		}
	}
	return f, nil
}

// rootIn is the fates of a part, in its world.
func (f *Fates) rootIn(p *part) (diagram.ID, error) {
	kept := p.world
	if o := &f.options; o.Replies || len(o.Through) > 0 { // much on the way there is no fate in the end
		scratch := newWorld(kept.six, kept.devices)
		b := newBuilder(scratch, scratch.store, p.terrain, p.class, o)
		var root diagram.ID
		var err error
		if !scratch.store.Within(int(b.bound), func() { root, err = b.rootWith(o, f.host) }) {
			err = b.bound.tooLarge()
		}
		if err != nil {
			return 0, err
		}
		return kept.take(scratch, root), nil
	}
	if root, known := f.rootAgain(p); known {
		return root, nil
	}
	return f.rootOf(p), nil
}

// worldFor is where fates are kept: with those that they are to be compared with, if these know all devices.
func (f *Fates) worldFor(family netfilter.Family, class Class, devices []string) *world {
	if f.options.Against != nil {
		if p := f.options.Against.part(family, class); p != nil && slices.Equal(p.world.devices, devices) {
			return p.world
		}
	}
	return newWorld(family == netfilter.IPv6, devices)
}

func (f *Fates) part(family netfilter.Family, class Class) *part {
	for i := range f.parts {
		if f.parts[i].family == family && f.parts[i].class == class {
			return &f.parts[i]
		}
	}
	return nil
}

// Host is the host whose fates they are.
func (f *Fates) Host() *packetsim.Host { return f.host }

// HaveReplies says whether the fates say what becomes of replies.
func (f *Fates) HaveReplies() bool { return f.options.Replies }

// roots are two parts in one world.
type roots struct {
	world *world
	a, b  diagram.ID
}

// beside puts a part and another one into one world, that has the devices of both.
func (p *part) beside(q *part) roots {
	if p.world == q.world {
		return roots{p.world, p.root, q.root}
	}
	if slices.Equal(p.world.devices, q.world.devices) {
		return roots{p.world, p.root, p.world.take(q.world, q.root)}
	}
	devices := map[string]bool{}
	for _, d := range slices.Concat(p.world.devices, q.world.devices) {
		devices[d] = true
	}
	all := newWorld(p.world.six, slices.Sorted(maps.Keys(devices)))
	return roots{all, all.take(p.world, p.root), all.take(q.world, q.root)}
}

// Equal says whether both hosts treat all packets of the classes and families alike that both are about.
func (f *Fates) Equal(other *Fates) bool {
	for i := range f.parts {
		p := &f.parts[i]
		if q := other.part(p.family, p.class); q != nil {
			if r := p.beside(q); r.a != r.b {
				return false
			}
		}
	}
	return true
}

// ErrOutside says that a packet is none of those that fates are about.
var ErrOutside = errors.New("forall: the packet is none of those that the fates are about")

// At is the fates of one packet. Conditions with names do not hold there but for those that holding names. An error that is ErrOutside
// says what of the
// packet is not as in a first packet.
func (f *Fates) At(in inet.Input, holding ...string) (Distribution, error) {
	return f.AtClass(New, in, holding...)
}

// AtClass is At for a packet of a class.
func (f *Fates) AtClass(class Class, in inet.Input, holding ...string) (Distribution, error) {
	p := f.part(inet.FamilyOf(in.Dst), class)
	if p == nil {
		return nil, fmt.Errorf("%w: its family or class", ErrOutside)
	}
	if why := f.outside(&in, class); why != "" {
		return nil, fmt.Errorf("%w: %s", ErrOutside, why)
	}
	if !in.Src.IsValid() {
		src, err := f.host.SourceFor(in.Dst)
		if err != nil {
			return nil, fmt.Errorf("%w: the host has no source for %s", ErrOutside, in.Dst)
		}
		in.Src = src
	}
	return p.distribution(p.world.store.At(p.root, p.point(&in, holding))), nil
}

// point is the values of the variables of a packet.
func (p *part) point(in *inet.Input, holding []string) func(diagram.Var) diagram.Value {
	return func(v diagram.Var) diagram.Value {
		switch v {
		case vDst:
			return valueOf(in.Dst)
		case vSrc:
			return valueOf(in.Src)
		case vDstPort:
			return diagram.Number(uint64(in.DstPort))
		case vSrcPort:
			return diagram.Number(uint64(in.SrcPort))
		case vProto:
			return diagram.Number(uint64(in.Proto))
		case vIn:
			return diagram.Number(uint64(slices.Index(p.world.devices, in.In) + 1))
		}
		if slices.Contains(holding, p.world.names[v-vNames]) {
			return diagram.Number(1)
		}
		return diagram.Value{}
	}
}

// outside says what of a packet is not as in those of the class; empty: nothing.
func (f *Fates) outside(in *inet.Input, class Class) string {
	if !in.Local {
		if _, is := f.host.Device(in.In); !is {
			return "there is no device " + in.In
		}
	}
	first := Usual(in.Packet, class)
	first.Socket, first.MAC, first.LinkType = in.Socket, in.MAC, in.LinkType
	first.ICMPID, first.Src = in.ICMPID, in.Src
	switch {
	case first.TCPFlags != in.TCPFlags:
		return "its flags of TCP"
	case first.ICMPType != in.ICMPType || first.ICMPCode != in.ICMPCode:
		return "its ICMP type"
	case in.Mark != 0:
		return "its mark"
	case in.TTL != 0 || in.Spent:
		return "its TTL"
	case in.TOS != 0 || in.Length != 0 || in.ChecksumOff != 0 || in.MSS != 0 ||
		len(in.Payload) > 0 || in.Numbers != nil || in.Inner != nil || in.Carried != nil:
		return "something of its header or its payload"
	}
	return ""
}

// Usual is a packet as those of a class are: with the addresses, protocol and ports of p, and else as most programs send them.
func Usual(p inet.Packet, class Class) inet.Packet {
	usual := inet.Packet{Proto: p.Proto, Src: p.Src, Dst: p.Dst}
	if p.Proto.HasPorts() {
		usual.SrcPort, usual.DstPort = p.SrcPort, p.DstPort
	}
	switch p.Proto {
	case inet.TCP:
		if usual.TCPFlags = inet.SYN; class == Established || class == Replying {
			usual.TCPFlags = inet.ACK
		}
	case inet.ICMP:
		usual.ICMPType = inet.ICMPEcho
	case inet.ICMPv6:
		usual.ICMPType = inet.ICMPv6Echo
	}
	return usual
}

// distribution is what a leaf says.
func (p *part) distribution(leaf diagram.ID) Distribution { return p.world.distribution(leaf) }

func (w *world) distribution(leaf diagram.ID) Distribution {
	var d Distribution
	for _, s := range w.store.Shares(leaf) {
		d = append(d, Share{w.fateOf(s.Atom), s.Weight.Float()})
	}
	slices.SortFunc(d, func(a, b Share) int { return compareFates(a.Fate, b.Fate) })
	return d
}

// Boxes are disjoint boxes that together have all packets, each with the fates of all packets in it.
func (f *Fates) Boxes() iter.Seq2[Space, Distribution] {
	return func(yield func(Space, Distribution) bool) {
		for i := range f.parts {
			p := &f.parts[i]
			ok := true
			p.world.store.Paths(p.root, func(path []diagram.Edge, leaf diagram.ID) bool {
				ok = yield(p.world.space(p.family, p.class, path), p.distribution(leaf))
				return ok
			})
			if !ok {
				return
			}
		}
	}
}

// space is the box of a way to a leaf.
func (w *world) space(family netfilter.Family, class Class, path []diagram.Edge) Space {
	within := [vNames]diagram.Interval{}
	for v := range vNames {
		within[v].Last = w.store.Limit(v)
	}
	s := Space{Class: class, Family: family, Share: 1}
	for _, e := range path {
		s.Share *= e.Size() / (diagram.Interval{Last: w.store.Limit(e.Var)}).Size()
		if e.Var >= vNames {
			s.Names = append(s.Names, w.named(e.Var, e.First.Low == 1))
			continue
		}
		within[e.Var] = e.Interval
	}
	addrs := func(i diagram.Interval) Addrs { return Addrs{addrOf(i.First, w.six), addrOf(i.Last, w.six)} }
	numbers := func(i diagram.Interval) Ports { return Ports{uint16(i.First.Low), uint16(i.Last.Low)} }
	s.Dst, s.Src = addrs(within[vDst]), addrs(within[vSrc])
	s.DstPorts, s.SrcPorts, s.Protos = numbers(within[vDstPort]), numbers(within[vSrcPort]), numbers(within[vProto])
	for i := within[vIn].First.Low; i <= within[vIn].Last.Low; i++ {
		if i == 0 {
			s.In = append(s.In, "")
		} else {
			s.In = append(s.In, w.devices[i-1])
		}
	}
	return s
}

// named is a condition with a name.
func (w *world) named(v diagram.Var, holds bool) Named {
	name := w.names[v-vNames]
	return Named{Name: name, Holds: holds, Says: w.says[name]}
}

// Has says whether an address is one of them.
func (a Addrs) Has(addr netip.Addr) bool {
	return a.First.Compare(addr) <= 0 && addr.Compare(a.Last) <= 0
}

// Has says whether a port is one of them.
func (p Ports) Has(port uint16) bool { return p.First <= port && port <= p.Last }

// Size is how large the function of the fates is.
type Size struct {
	Nodes, Edges, Fates int
	Boxes               float64
}

// Size is how large the function is, of all families and classes.
func (f *Fates) Size() Size {
	var all Size
	for i := range f.parts {
		p := &f.parts[i]
		nodes, edges, leaves := p.world.store.Size(p.root)
		all.Nodes, all.Edges, all.Fates = all.Nodes+nodes, all.Edges+edges, all.Fates+leaves
		all.Boxes += p.world.store.CountPaths(p.root)
	}
	return all
}

// Unmodelled are the reasons for which fates are not known, sorted.
func (f *Fates) Unmodelled() []string {
	reasons := map[string]bool{}
	for i := range f.parts {
		p := &f.parts[i]
		p.world.store.Leaves(p.root, func(leaf diagram.ID) {
			for _, s := range p.world.store.Shares(leaf) {
				if why := p.world.fateOf(s.Atom).Unmodelled; why != "" {
					reasons[why] = true
				}
			}
		})
	}
	return slices.Sorted(maps.Keys(reasons))
}
