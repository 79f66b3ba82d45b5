package fakeipt

import (
	"fmt"
	"math"
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/icmp"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchICMP is -m icmp, and with V6 set -m icmp6.
type MatchICMP struct {
	V6               bool
	Any              bool // --icmp-type any (IPv4 only)
	Type             uint8
	CodeMin, CodeMax uint8
	Invert           bool
}

// Name is "icmp" or "icmp6".
func (m *MatchICMP) Name() string {
	if m.V6 {
		return "icmp6"
	}
	return "icmp"
}

func (m *MatchICMP) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.V6 {
		dst = appendOption(dst, "--icmpv6-type", m.Invert)
	} else {
		dst = appendOption(dst, "--icmp-type", m.Invert)
	}
	dst = append(dst, ' ')
	if m.Any {
		return append(dst, "any"...)
	}
	dst = strconv.AppendUint(dst, uint64(m.Type), 10)
	if m.anyCode() {
		return dst
	}
	// Of a range of codes the tools print the first alone.
	return strconv.AppendUint(append(dst, '/'), uint64(m.CodeMin), 10)
}

func (m *MatchICMP) anyCode() bool { return m.CodeMin == 0 && m.CodeMax == 255 }

func (m *MatchICMP) appendList(dst []byte, style listStyle) []byte {
	word := " icmp"
	if m.V6 {
		word = " ipv6-icmp"
	}
	dst = append(dst, word...)
	if !style.numeric {
		if name := m.typeName(); name != "" {
			return append(append(append(dst, ' '), bang(m.Invert)...), name...)
		}
	}
	if m.Invert {
		dst = append(dst, " !"...)
	}
	number := m.Type
	if m.Any {
		number = 255
	}
	dst = fmt.Appendf(dst, "type %d", number)
	switch {
	case m.Any || m.anyCode():
		return dst
	case m.CodeMin == m.CodeMax:
		return fmt.Appendf(dst, " code %d", m.CodeMin)
	}
	return fmt.Appendf(dst, " codes %d-%d", m.CodeMin, m.CodeMax)
}

func (m *MatchICMP) check(c *checkContext) syscall.Errno {
	if m.V6 {
		return c.wantProto(libc.ProtoICMPv6)
	}
	return c.wantProto(libc.ProtoICMP)
}

func (m *MatchICMP) names() []icmp.TypeName {
	if m.V6 {
		return icmp.V6Names
	}
	return icmp.V4Names
}

func (m *MatchICMP) typeName() string {
	for _, n := range m.names() {
		if m.Any && n.Name == "any" || !m.Any && n.Name != "any" && n.Type == m.Type && n.CodeMin == m.CodeMin && n.CodeMax == m.CodeMax {
			return n.Name
		}
	}
	return ""
}

var (
	icmpExtension = &extension{
		name:     "icmp",
		onlyIn:   netfilter.IPv4,
		options:  []optionSpec{{name: "icmp-type", invert: true, mandatory: true}},
		newMatch: func() matchParser { return &icmpParser{} },
	}
	icmp6Extension = &extension{
		name:     "icmp6",
		onlyIn:   netfilter.IPv6,
		options:  []optionSpec{{name: "icmpv6-type", invert: true, mandatory: true}},
		newMatch: func() matchParser { return &icmpParser{} },
	}
)

type icmpParser struct {
	m     MatchICMP
	arena arena[MatchICMP]
}

func (p *icmpParser) begin(f netfilter.Family) { p.m = MatchICMP{V6: f == netfilter.IPv6} }

func (p *icmpParser) option(o *optionCall) error {
	p.m.Invert = o.invert
	if found, err := p.byName(o.arg); found || err != nil {
		return err
	}
	return p.byNumber(o.arg)
}

// byName looks for a name, or the only name that begins so.
func (p *icmpParser) byName(arg []byte) (bool, error) {
	var match *icmp.TypeName
	names := p.m.names()
	for i := range names {
		n := &names[i]
		if !beginsLike(n.Name, arg) {
			continue
		}
		if len(arg) == len(n.Name) {
			match = n
			break
		}
		if match != nil {
			return false, badParameter("Ambiguous %s type `%s': `%s' or `%s'?", p.m.kind(), arg, match.Name, n.Name)
		}
		match = n
	}
	if match == nil {
		return false, nil
	}
	p.m.Any = match.Name == "any"
	p.m.Type, p.m.CodeMin, p.m.CodeMax = match.Type, match.CodeMin, match.CodeMax
	return true, nil
}

// kind is what messages call the protocol.
func (m *MatchICMP) kind() string {
	if m.V6 {
		return "ICMPv6"
	}
	return "ICMP"
}

// byNumber reads "TYPE[/CODE[:CODE]]".
func (p *icmpParser) byNumber(arg []byte) error {
	t, rest, ok := libc.CutNumber(arg)
	if !ok || t > math.MaxUint8 {
		return badParameter("Unknown %s type `%s'", p.m.kind(), arg)
	}
	p.m.Type, p.m.CodeMin, p.m.CodeMax = uint8(t), 0, math.MaxUint8
	p.m.Any = !p.m.V6 && t == math.MaxUint8
	switch {
	case len(rest) == 0:
		return nil
	case rest[0] == ':':
		return badParameter("%s type range not supported", p.m.kind())
	case rest[0] != '/':
		return badParameter("unknown character %s", rest[:1])
	}
	code, rest, ok := libc.CutNumber(rest[1:])
	if !ok || code > math.MaxUint8 {
		return badParameter("Unknown %s code `%s'", p.m.kind(), arg)
	}
	p.m.CodeMin, p.m.CodeMax = uint8(code), uint8(code)
	if len(rest) == 0 {
		return nil
	}
	if rest[0] != ':' {
		return badParameter("unknown character %s", rest[:1])
	}
	if code, rest, ok = libc.CutNumber(rest[1:]); !ok || code > math.MaxUint8 {
		return badParameter("Unknown %s code `%s'", p.m.kind(), arg)
	}
	p.m.CodeMax = uint8(code)
	if len(rest) > 0 {
		return badParameter("unknown character %s", rest[:1])
	}
	return nil
}

func (p *icmpParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
