package fakeipt

import (
	"bytes"
	"fmt"
	"net/netip"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// maxRouteAddrs is how many addresses a rule can name.
const maxRouteAddrs = 16

// MatchRT is -m rt (IPv6 only): the header that says by which hosts the packet has to pass.
type MatchRT struct {
	HasType, InvType bool
	Type             uint32
	HasSegments      bool
	Segments         NumberRange // hosts that are left
	HasLength        bool
	Length           HeaderLength
	// Of headers of type 0: the reserved field is 0; the header has the Addrs, and unless NotStrict no others.
	Reserved  bool
	NotStrict bool

	addrs [maxRouteAddrs]netip.Addr
	count uint8
}

// Addrs are the addresses that the header has to have in this order.
func (m *MatchRT) Addrs() []netip.Addr { return m.addrs[:m.count] }

// Name is "rt".
func (*MatchRT) Name() string { return "rt" }

func (m *MatchRT) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.HasType {
		dst = fmt.Appendf(appendOption(dst, "--rt-type", m.InvType), " %d", m.Type)
	}
	dst = m.Segments.appendSave(dst, "--rt-segsleft")
	if m.HasLength {
		dst = m.Length.appendSave(dst, "--rt-len")
	}
	dst = appendFlags(dst, " --", flagWord{"rt-0-res", m.Reserved})
	if m.count > 0 {
		dst = m.appendAddrs(append(dst, " --rt-0-addrs "...))
	}
	return appendFlags(dst, " --", flagWord{"rt-0-not-strict", m.NotStrict})
}

func (m *MatchRT) appendList(dst []byte, _ listStyle) []byte {
	dst = append(dst, " rt"...)
	if m.HasType {
		dst = fmt.Appendf(dst, " type:%s%d", bang(m.InvType), int32(m.Type))
	}
	dst = m.Segments.appendList(dst, " segsleft")
	if m.HasLength {
		dst = m.Length.appendList(append(dst, ' '))
	}
	dst = appendFlags(dst, " ", flagWord{"reserved", m.Reserved})
	if m.count > 0 {
		dst = m.appendAddrs(append(dst, " 0-addrs "...))
	}
	return appendFlags(dst, " ", flagWord{"0-not-strict", m.NotStrict})
}

func (m *MatchRT) appendAddrs(dst []byte) []byte {
	for i, a := range m.Addrs() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = libc.AppendInetNtop(dst, a)
	}
	return dst
}

var rtExtension = &extension{
	name:   "rt",
	onlyIn: netfilter.IPv6,
	options: []optionSpec{
		{name: "rt-type", invert: true}, {name: "rt-segsleft", invert: true}, {name: "rt-len", invert: true}, {name: "rt-0-res", flag: true},
		{name: "rt-0-addrs"}, {name: "rt-0-not-strict", flag: true},
	},
	newMatch: matchOf(valueParser[MatchRT]{start: func(netfilter.Family) MatchRT { return MatchRT{Segments: anyNumber} }, read: (*MatchRT).read}),
}

func (m *MatchRT) read(o *optionCall) (err error) {
	switch o.name {
	case "rt-type":
		m.HasType, m.InvType = true, o.invert
		m.Type, err = o.uint32()
		return err
	case "rt-segsleft":
		m.HasSegments = true
		m.Segments, err = o.numberRange()
		return err
	case "rt-len":
		m.HasLength = true
		m.Length, err = o.headerLength()
		return err
	}
	if o.name == "rt-0-not-strict" {
		if m.NotStrict = true; m.count == 0 {
			return badParameter("`--rt-0-addr ...' required before `--rt-0-not-strict'")
		}
		return nil
	}
	if !m.HasType || m.Type != 0 || m.InvType {
		return badParameter("`--rt-type 0' required before `--%s'", o.name)
	}
	if o.name == "rt-0-res" {
		m.Reserved = true
		return nil
	}
	return m.readAddrs(o.arg)
}

func (m *MatchRT) readAddrs(arg []byte) error {
	for word := range bytes.SplitSeq(arg, []byte(",")) {
		if int(m.count) == maxRouteAddrs {
			return badParameter("too many addresses specified")
		}
		a, ok := libc.InetPton(word, 128)
		if !ok {
			return badParameter("bad address: %s", word)
		}
		m.addrs[m.count] = a
		m.count++
	}
	return nil
}
