package xtables

import (
	"math"
	"net/netip"

	"github.com/chainwalk/chainwalk/netfilter"
)

// factual is a match or a target that knows the words of a Fact for what it means. Others stand there by their names.
type factual interface {
	AddFact(f *netfilter.Fact)
}

// Fact is what the rule means. It is made anew at each call: rules that nobody asks about cost nothing.
func (r *Rule) Fact() netfilter.Fact {
	f := netfilter.Fact{Opaque: r.HasOpaque}
	r.addHeader(&f.Conditions)
	for _, m := range r.Matches {
		if known, ok := m.(factual); ok {
			known.AddFact(&f)
		} else {
			AddOther(&f.Conditions, m.Name())
		}
	}
	switch target := r.Target.(type) {
	case nil:
	case factual:
		target.AddFact(&f)
	default:
		f.Other = target.Name()
	}
	return f
}

// addHeader adds what the rule itself asks of the header and of the devices.
func (r *Rule) addHeader(c *netfilter.Conditions) {
	c.Src, c.Dst = r.Src.plain(c, "source"), r.Dst.plain(c, "destination")
	c.In, c.Out = r.In.plain(c, "in"), r.Out.plain(c, "out")
	switch {
	case r.Proto == ProtoMatch{}:
	case r.Proto.Invert, r.Proto.Number == 0, r.Proto.Number > math.MaxUint8:
		AddOther(c, "protocol")
	default:
		c.Protocol = uint8(r.Proto.Number)
	}
	if r.Fragment != FragmentAny {
		AddOther(c, "fragment")
	}
}

// AddOther adds a condition that has no words of its own.
func AddOther(c *netfilter.Conditions, name string) { c.Others = append(c.Others, name) }

// plain is the prefix of addresses that the match holds for. If they are none it stands among the other conditions by its name.
func (m *AddrMatch) plain(c *netfilter.Conditions, name string) netip.Prefix {
	if m == nil {
		return netip.Prefix{}
	}
	length := MaskBits(m.Mask)
	if m.Invert || length < 0 {
		AddOther(c, name)
		return netip.Prefix{}
	}
	return netip.PrefixFrom(m.Addr, length)
}

// plain is the name of the device that the match holds for. If it is not the only one it stands among the other conditions by its name.
func (m *IfaceMatch) plain(c *netfilter.Conditions, name string) string {
	switch {
	case m == nil:
		return ""
	case m.Invert, m.Prefix, m.Name == "":
		AddOther(c, name)
		return ""
	}
	return m.Name
}

// AddPorts adds the ports of destinations.
func AddPorts(c *netfilter.Conditions, r PortRange) {
	if r.Max == 0 { // port 0 alone, which would be read as any
		AddOther(c, "ports")
	} else if !r.IsAny() {
		c.DstPorts = netfilter.PortRange(r)
	}
}

// AddTranslation says what becomes of a side.
func AddTranslation(f *netfilter.Fact, r *netfilter.NATRange, kind netfilter.TranslationKind, of netfilter.Side) {
	f.Translation = netfilter.Translation{Kind: kind, Of: of, MinAddr: r.MinAddr, MaxAddr: r.MaxAddr, MinPort: r.MinPort, MaxPort: r.MaxPort}
}
