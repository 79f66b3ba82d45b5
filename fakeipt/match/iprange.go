package match

import (
	"bytes"
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// AddrRange is a range of addresses, both ends included, or with Invert every address outside of it.
type AddrRange struct {
	Min, Max netip.Addr
	Invert   bool
}

// Contains reports whether the address is in the range, before Invert.
func (r *AddrRange) Contains(a netip.Addr) bool {
	return a.BitLen() == r.Min.BitLen() && r.Min.Compare(a) <= 0 && a.Compare(r.Max) <= 0
}

// IPRange is -m iprange.
type IPRange struct {
	Src, Dst *AddrRange // nil: any
}

// Name is "iprange".
func (*IPRange) Name() string { return "iprange" }

func (m *IPRange) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.Dst.appendBehind(m.Src.appendBehind(dst, " --src-range", " !", false), " --dst-range", " !", false)
}

func (m *IPRange) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return m.Dst.appendBehind(m.Src.appendBehind(dst, " source IP range", " !", true), " destination IP range", " !", true)
}

// appendBehind appends the range behind a word. The "!" stands before the word or behind it.
func (r *AddrRange) appendBehind(dst []byte, word, not string, notBehind bool) []byte {
	if r == nil {
		return dst
	}
	if r.Invert && !notBehind {
		dst = append(dst, not...)
	}
	dst = append(dst, word...)
	if r.Invert && notBehind {
		dst = append(dst, not...)
	}
	return libc.AppendInetNtop(append(libc.AppendInetNtop(append(dst, ' '), r.Min), '-'), r.Max)
}

var iprangeExtension = &xtables.Extension{
	Name:     "iprange",
	Options:  []xtables.Option{{Name: "src-range", Invert: true}, {Name: "dst-range", Invert: true}},
	NewMatch: func() xtables.MatchParser { return &iprangeParser{} },
}

type iprangeParser struct {
	m IPRange
}

func (p *iprangeParser) Begin(netfilter.Family) { p.m = IPRange{} }

func (p *iprangeParser) Option(o *xtables.OptionCall) (err error) {
	if o.Name == "src-range" {
		p.m.Src, err = parseAddrRange(o)
	} else {
		p.m.Dst, err = parseAddrRange(o)
	}
	return err
}

func parseAddrRange(o *xtables.OptionCall) (*AddrRange, error) {
	first, last, dash := bytes.Cut(o.Arg, []byte("-"))
	if !dash {
		last = first
	}
	r := &AddrRange{Invert: o.Invert}
	var ok bool
	if r.Min, ok = xtables.ParseNumeric(first, o.Family); !ok {
		return nil, o.BadValue(first)
	}
	if r.Max, ok = xtables.ParseNumeric(last, o.Family); !ok {
		return nil, o.BadValue(last)
	}
	if r.Max.Less(r.Min) {
		o.Warn("xt_iprange: range %s-%s is reversed and will never match\n", first, last)
	}
	return r, nil
}

func (p *iprangeParser) Finish(seen uint32) (xtables.Match, error) {
	if seen == 0 {
		return nil, xtables.BadParameter("iprange match: You must specify `--src-range' or `--dst-range'")
	}
	m := p.m
	return &m, nil
}
