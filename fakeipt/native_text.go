package fakeipt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// compatible says whether the tools list a chain with such a rule (nft_is_expr_compatible in iptables/nft.c). What they then list need not
// be all of the rule.
func compatible(r *nftables.Rule) bool {
	for _, e := range r.Exprs {
		switch x := e.(type) {
		case *expr.Xt, *expr.Payload, *expr.Meta, *expr.Cmp, *expr.Bitwise, *expr.Counter, *expr.Immediate, *expr.Lookup, *expr.Range:
		case *expr.Limit:
			if x.Bytes || x.Over {
				return false
			}
		case *expr.Log:
			if !x.HasGroup {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// failureOf is what the tools say where they compare a rule with another one and cannot read it; empty if they go on. An expression that
// they do not know fills no register for them, so that there is nothing to compare.
func failureOf(r *nftables.Rule) string {
	unknown := false
	for _, e := range r.Exprs {
		switch e.(type) {
		case *expr.Payload, *expr.Meta:
			unknown = false
		case *expr.Cmp:
			if unknown {
				return "cmp sreg undef"
			}
		case *expr.CT, *expr.Fib, *expr.RT, *expr.Socket, *expr.Osf, *expr.XFRM, *expr.Numgen, *expr.Hash, *expr.Exthdr:
			unknown = true
		}
	}
	return ""
}

// optionsReader reads a rule of nf_tables into the options of iptables, as the tools do (iptables/nft-shared.c).
type optionsReader struct {
	family  netfilter.Family
	head    strings.Builder // -s, -d, -i, -o, -p
	matches []string
	target  string

	load     expr.Expr // what the register has
	mask     []byte
	protocol byte
	ports    int // 1 + the match among matches that has the ports
	low      []byte
}

// optionsOf are the options that a rule has for the tools; ok is false if that is not known here.
func optionsOf(r *nftables.Rule, f netfilter.Family) (words string, ok bool) {
	p := &optionsReader{family: f}
	for _, e := range r.Exprs {
		if !p.expr(e) {
			return "", false
		}
	}
	if p.low != nil {
		return "", false
	}
	if len(r.UserData) > 0 {
		u := nftables.DecodeUserData(nftables.RuleUserData, r.UserData)
		if !u.HasComment || strings.ContainsAny(u.Comment, "\"\\\n") {
			return "", false
		}
		p.matches = append(p.matches, fmt.Sprintf(" -m comment --comment %q", u.Comment))
	}
	return p.head.String() + strings.Join(p.matches, "") + p.target, true
}

func (p *optionsReader) expr(e expr.Expr) bool {
	switch x := e.(type) {
	case *expr.Counter:
		return true
	case *expr.Payload:
		p.load, p.mask = x, nil
		return !x.Writes && x.Base != expr.LinkHeader && x.Base != expr.InnerHeader
	case *expr.Meta:
		p.load, p.mask = x, nil
		return !x.Writes
	case *expr.Bitwise:
		p.mask = x.Mask
		return x.Op == expr.Bool && p.load != nil && len(bytes.Trim(x.Xor, "\x00")) == 0
	case *expr.Cmp:
		switch l := p.load.(type) {
		case *expr.Meta:
			return p.meta(l.Key, x)
		case *expr.Payload:
			return p.payload(l, x)
		}
	case *expr.Immediate:
		return x.Data.Verdict != nil && p.verdict(x.Data.Verdict)
	}
	return false
}

// say adds an option to the head; not stands before one that is inverted.
func (p *optionsReader) say(op expr.CmpOp, format string, args ...any) bool {
	p.head.WriteString(not(op))
	fmt.Fprintf(&p.head, format, args...)
	return op == expr.Eq || op == expr.Neq
}

func not(op expr.CmpOp) string {
	if op == expr.Neq {
		return " !"
	}
	return ""
}

func (p *optionsReader) meta(key expr.MetaKey, c *expr.Cmp) bool {
	switch key {
	case expr.MetaIifname, expr.MetaOifname:
		name, option := string(c.Data), " -i %s"
		if key == expr.MetaOifname {
			option = " -o %s"
		}
		whole := strings.HasSuffix(name, "\x00")
		if name = strings.TrimRight(name, "\x00"); !whole {
			name += "+"
		}
		return p.mask == nil && !strings.ContainsAny(name, " \"'\\") && p.say(c.Op, option, name)
	case expr.MetaL4proto:
		return p.mask == nil && len(c.Data) == 1 && p.proto(c.Data[0], c.Op)
	case expr.MetaMark:
		if len(c.Data) != 4 || c.Op > expr.Neq {
			return false
		}
		value := fmt.Sprintf("%#x", binary.NativeEndian.Uint32(c.Data))
		if len(p.mask) == 4 {
			value += fmt.Sprintf("/%#x", binary.NativeEndian.Uint32(p.mask))
		}
		p.matches = append(p.matches, fmt.Sprintf(" -m mark%s --mark %s", not(c.Op), value))
		return true
	}
	return false
}

func (p *optionsReader) proto(number byte, op expr.CmpOp) bool {
	if number == 0 || p.protocol != 0 {
		return false
	}
	if op == expr.Eq {
		p.protocol = number
	}
	return p.say(op, " -p %d", number)
}

// The places of fields in the network header.
const (
	protoV4 = 9
	srcV4   = 12
	dstV4   = 16
	srcV6   = 8
	dstV6   = 24
)

func (p *optionsReader) payload(l *expr.Payload, c *expr.Cmp) bool {
	if len(c.Data) != int(l.Len) {
		return false
	}
	if l.Base == expr.TransportHeader {
		return p.transport(l, c)
	}
	source, destination, size := uint32(srcV4), uint32(dstV4), 4
	if p.family == netfilter.IPv6 {
		source, destination, size = srcV6, dstV6, 16
	}
	switch {
	case l.Offset == source && len(c.Data) <= size:
		return p.address(" -s %s", c, size)
	case l.Offset == destination && len(c.Data) <= size:
		return p.address(" -d %s", c, size)
	case p.family == netfilter.IPv4 && l.Offset == protoV4 && l.Len == 1 && p.mask == nil:
		return p.proto(c.Data[0], c.Op)
	}
	return false
}

// address is -s or -d: fewer bytes than an address has are a prefix.
func (p *optionsReader) address(option string, c *expr.Cmp, size int) bool {
	value, mask := make([]byte, size), make([]byte, size)
	copy(value, c.Data)
	for i := range c.Data {
		mask[i] = 0xff
	}
	if p.mask != nil {
		if len(p.mask) != size {
			return false
		}
		copy(mask, p.mask)
	}
	a, _ := netip.AddrFromSlice(value)
	m, _ := netip.AddrFromSlice(mask)
	return p.say(c.Op, option, a.String()+"/"+m.String())
}

// transport is a port of TCP or UDP, or the type of ICMP.
func (p *optionsReader) transport(l *expr.Payload, c *expr.Cmp) bool {
	name := libc.AppendProtocol(nil, uint16(p.protocol))
	switch p.protocol {
	case 6, 17:
	case 1:
		if p.family != netfilter.IPv4 || l.Offset != 0 || l.Len != 1 || p.mask != nil || c.Op > expr.Neq {
			return false
		}
		p.matches = append(p.matches, fmt.Sprintf(" -m icmp%s --icmp-type %d", not(c.Op), c.Data[0]))
		return true
	default:
		return false
	}
	if l.Len != 2 || l.Offset > 2 || l.Offset == 1 || p.mask != nil {
		return false
	}
	port := fmt.Sprint(binary.BigEndian.Uint16(c.Data))
	switch {
	case c.Op == expr.Gte && p.low == nil:
		p.low = c.Data
		return true
	case c.Op == expr.Lte && p.low != nil:
		port = fmt.Sprintf("%d:%s", binary.BigEndian.Uint16(p.low), port)
		p.low = nil
	case c.Op > expr.Neq || p.low != nil:
		return false
	}
	if p.ports == 0 {
		p.matches = append(p.matches, fmt.Sprintf(" -m %s", name))
		p.ports = len(p.matches)
	}
	p.matches[p.ports-1] += fmt.Sprintf("%s --%cport %s", not(c.Op), "sxd"[l.Offset], port)
	return true
}

func (p *optionsReader) verdict(v *expr.Verdict) bool {
	switch v.Code {
	case expr.Accept:
		p.target = " -j ACCEPT"
	case expr.Drop:
		p.target = " -j DROP"
	case expr.Return:
		p.target = " -j RETURN"
	case expr.Jump:
		p.target = " -j " + v.Chain
	case expr.Goto:
		p.target = " -g " + v.Chain
	case expr.Continue:
	default:
		return false
	}
	return true
}
