package forall

import (
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// View is how fates are looked at, so that hosts can be compared that have other addresses and devices.
type View struct {
	// In is the device by which the packets come; "" is the host itself.
	In string
	// Src and Dst are what all of them have; unset, they may have any.
	Src, Dst netip.Addr
	// Without are packets that are left out.
	Without []Packets
	// Fate is how a fate is looked at; nil: as it is.
	Fate func(Fate) Fate
	// Against are other seen fates that the new ones will be compared with, as Options.Against.
	Against *Fates
}

// Packets are some packets, unset parts being any. A port without a protocol is one of every protocol that has ports.
type Packets struct {
	Dst, Src netip.Prefix
	Proto    uint8
	DstPort  uint16
}

// notSeen is the fate of packets that are left out.
const notSeen = "left out"

// Seen are the fates as a view has them: of the packets of one device, as if the host had no other one. Equal and Diff compare them with
// those of other hosts in views of their own. At is not to be asked of them; a witness has "", the host itself, for the device.
func (f *Fates) Seen(v View) *Fates {
	seen := &Fates{host: f.host, options: Options{Against: v.Against}}
	for i := range f.parts {
		p := &f.parts[i]
		if v.Src.IsValid() && v.Src.Is6() != p.world.six || v.Dst.IsValid() && v.Dst.Is6() != p.world.six {
			continue
		}
		scratch := newWorld(p.world.six, nil)
		for k := range p.world.names {
			scratch.nameOf(p.world, vNames+diagram.Var(k), "")
		}
		s := seeing{view: &v, from: p, to: scratch, known: map[diagram.ID]diagram.ID{}}
		root := s.without(s.see(p.root))
		kept := seen.worldFor(p.family, p.class, nil)
		seen.parts = append(seen.parts, part{family: p.family, class: p.class, world: kept, root: kept.take(scratch, root)})
	}
	return seen
}

// seeing copies a function as a view has it.
type seeing struct {
	view  *View
	from  *part
	to    *world
	known map[diagram.ID]diagram.ID
}

// fixed is the value of a variable that all packets have.
func (s *seeing) fixed(v diagram.Var) (diagram.Value, bool) {
	switch {
	case v == vIn:
		return diagram.Number(uint64(slices.Index(s.from.world.devices, s.view.In) + 1)), true
	case v == vSrc && s.view.Src.IsValid():
		return valueOf(s.view.Src), true
	case v == vDst && s.view.Dst.IsValid():
		return valueOf(s.view.Dst), true
	}
	return diagram.Value{}, false
}

func (s *seeing) see(id diagram.ID) diagram.ID {
	if made, is := s.known[id]; is {
		return made
	}
	from := s.from.world.store
	var made diagram.ID
	if from.IsLeaf(id) {
		shares := slices.Clone(from.Shares(id))
		for i := range shares {
			fate := s.from.world.fateOf(shares[i].Atom)
			if s.view.Fate != nil {
				fate = s.view.Fate(fate)
			}
			shares[i].Atom = s.to.fate(fate)
		}
		made = s.to.store.Leaf(shares)
	} else if value, is := s.fixed(from.Decides(id)); is {
		made = s.see(from.Kid(id, value))
	} else {
		kids := slices.Clone(from.Kids(id))
		last := make([]diagram.Value, len(kids))
		for i := range kids {
			kids[i], last[i] = s.see(kids[i]), from.Last(id, i)
		}
		made = s.to.store.Node(from.Decides(id), last, kids)
	}
	s.known[id] = made
	return made
}

// without is a function but for the packets that are left out.
func (s *seeing) without(root diagram.ID) diagram.ID {
	store := s.to.store
	out := store.One(s.to.fate(Fate{Unmodelled: notSeen}))
	for i := range s.view.Without {
		at := s.condition(&s.view.Without[i], store.One(1), store.One(0))
		root = store.Replace(at, func(a diagram.Atom) diagram.ID {
			if a == 1 {
				return out
			}
			return root
		})
	}
	return root
}

// condition is yes for packets, and no for all others.
func (s *seeing) condition(p *Packets, yes, no diagram.ID) diagram.ID {
	at := yes
	prefix := func(v diagram.Var, of netip.Prefix) {
		switch value, is := s.fixed(v); {
		case !of.IsValid() || at == no:
		case of.Addr().Is6() != s.to.six:
			at = no
		case is:
			if i := prefixInterval(of); value.Less(i.First) || i.Last.Less(value) {
				at = no
			}
		default:
			at = s.to.store.Choose(v, diagram.Set{prefixInterval(of)}, at, no)
		}
	}
	prefix(vSrc, p.Src)
	switch {
	case p.Proto != 0:
		at = s.to.store.Choose(vProto, diagram.Set{diagram.Point(diagram.Number(uint64(p.Proto)))}, at, no)
	case p.DstPort != 0:
		var ported []diagram.Interval
		for n := range 256 {
			if inet.Proto(n).HasPorts() {
				ported = append(ported, diagram.Point(diagram.Number(uint64(n))))
			}
		}
		at = s.to.store.Choose(vProto, diagram.SetOf(ported...), at, no)
	}
	if p.DstPort != 0 {
		at = s.to.store.Choose(vDstPort, diagram.Set{diagram.Point(diagram.Number(uint64(p.DstPort)))}, at, no)
	}
	prefix(vDst, p.Dst)
	return at
}
