package match

import (
	"bytes"
	"fmt"
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// maxRouteAddrs is how many addresses a rule can name.
const maxRouteAddrs = 16

// RT is -m rt (IPv6 only): the header that says by which hosts the packet has to pass.
type RT struct {
	HasType, InvType bool
	Type             uint32
	HasSegments      bool
	Segments         xtables.NumberRange // hosts that are left
	HasLength        bool
	Length           xtables.HeaderLength
	// Of headers of type 0: the reserved field is 0; the header has the addresses, and unless NotStrict no others.
	Reserved  bool
	NotStrict bool

	addrs [maxRouteAddrs]netip.Addr
	count uint8
}

// named are the addresses that the header has to have in this order.
func (m *RT) named() []netip.Addr { return m.addrs[:m.count] }

// Name is "rt".
func (*RT) Name() string { return "rt" }

func (m *RT) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.HasType {
		dst = fmt.Appendf(xtables.AppendOption(dst, "--rt-type", m.InvType), " %d", m.Type)
	}
	dst = m.Segments.AppendSave(dst, "--rt-segsleft")
	if m.HasLength {
		dst = m.Length.AppendSave(dst, "--rt-len")
	}
	dst = xtables.AppendFlags(dst, " --", xtables.WordIf("rt-0-res", m.Reserved))
	if m.count > 0 {
		dst = m.appendAddrs(append(dst, " --rt-0-addrs "...))
	}
	return xtables.AppendFlags(dst, " --", xtables.WordIf("rt-0-not-strict", m.NotStrict))
}

func (m *RT) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	dst = append(dst, " rt"...)
	if m.HasType {
		dst = fmt.Appendf(dst, " type:%s%d", xtables.Bang(m.InvType), int32(m.Type))
	}
	dst = m.Segments.AppendList(dst, " segsleft")
	if m.HasLength {
		dst = m.Length.AppendList(append(dst, ' '))
	}
	dst = xtables.AppendFlags(dst, " ", xtables.WordIf("reserved", m.Reserved))
	if m.count > 0 {
		dst = m.appendAddrs(append(dst, " 0-addrs "...))
	}
	return xtables.AppendFlags(dst, " ", xtables.WordIf("0-not-strict", m.NotStrict))
}

func (m *RT) appendAddrs(dst []byte) []byte {
	for i, a := range m.named() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = libc.AppendInetNtop(dst, a)
	}
	return dst
}

var rtExtension = &xtables.Extension{
	Name:   "rt",
	OnlyIn: netfilter.IPv6,
	Options: []xtables.Option{
		{Name: "rt-type", Invert: true}, {Name: "rt-segsleft", Invert: true}, {Name: "rt-len", Invert: true}, {Name: "rt-0-res", Flag: true},
		{Name: "rt-0-addrs"}, {Name: "rt-0-not-strict", Flag: true},
	},
	NewMatch: xtables.MatchOf(xtables.ValueParser[RT]{
		Start: func(netfilter.Family) RT { return RT{Segments: xtables.AnyNumber} },
		Read:  (*RT).read,
	}),
}

func (m *RT) read(o *xtables.OptionCall) (err error) {
	switch o.Name {
	case "rt-type":
		m.HasType, m.InvType = true, o.Invert
		m.Type, err = o.Uint32()
		return err
	case "rt-segsleft":
		m.HasSegments = true
		m.Segments, err = o.NumberRange()
		return err
	case "rt-len":
		m.HasLength = true
		m.Length, err = o.HeaderLength()
		return err
	}
	if o.Name == "rt-0-not-strict" {
		if m.NotStrict = true; m.count == 0 {
			return xtables.BadParameter("`--rt-0-addr ...' required before `--rt-0-not-strict'")
		}
		return nil
	}
	if !m.HasType || m.Type != 0 || m.InvType {
		return xtables.BadParameter("`--rt-type 0' required before `--%s'", o.Name)
	}
	if o.Name == "rt-0-res" {
		m.Reserved = true
		return nil
	}
	return m.readAddrs(o.Arg)
}

func (m *RT) readAddrs(arg []byte) error {
	for word := range bytes.SplitSeq(arg, []byte(",")) {
		if int(m.count) == maxRouteAddrs {
			return xtables.BadParameter("too many addresses specified")
		}
		a, ok := libc.InetPton(word, 128)
		if !ok {
			return xtables.BadParameter("bad address: %s", word)
		}
		m.addrs[m.count] = a
		m.count++
	}
	return nil
}
