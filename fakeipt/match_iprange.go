package fakeipt

import (
	"bytes"
	"net/netip"

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

// MatchIPRange is -m iprange.
type MatchIPRange struct {
	Src, Dst *AddrRange // nil: any
}

// Name is "iprange".
func (*MatchIPRange) Name() string { return "iprange" }

func (m *MatchIPRange) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.Dst.appendBehind(m.Src.appendBehind(dst, " --src-range", " !", false), " --dst-range", " !", false)
}

func (m *MatchIPRange) appendList(dst []byte, _ listStyle) []byte {
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

var iprangeExtension = &extension{
	name:     "iprange",
	options:  []optionSpec{{name: "src-range", invert: true}, {name: "dst-range", invert: true}},
	newMatch: func() matchParser { return &iprangeParser{} },
}

type iprangeParser struct {
	m MatchIPRange
}

func (p *iprangeParser) begin(netfilter.Family) { p.m = MatchIPRange{} }

func (p *iprangeParser) option(o *optionCall) (err error) {
	if o.name == "src-range" {
		p.m.Src, err = parseAddrRange(o)
	} else {
		p.m.Dst, err = parseAddrRange(o)
	}
	return err
}

func parseAddrRange(o *optionCall) (*AddrRange, error) {
	first, last, dash := bytes.Cut(o.arg, []byte("-"))
	if !dash {
		last = first
	}
	r := &AddrRange{Invert: o.invert}
	var ok bool
	if r.Min, ok = parseNumeric(first, o.family); !ok {
		return nil, o.badValue(first)
	}
	if r.Max, ok = parseNumeric(last, o.family); !ok {
		return nil, o.badValue(last)
	}
	if r.Max.Less(r.Min) {
		o.warn("xt_iprange: range %s-%s is reversed and will never match\n", first, last)
	}
	return r, nil
}

func (p *iprangeParser) finish(seen uint32) (Match, error) {
	if seen == 0 {
		return nil, badParameter("iprange match: You must specify `--src-range' or `--dst-range'")
	}
	m := p.m
	return &m, nil
}
