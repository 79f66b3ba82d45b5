package match

import (
	"fmt"
	"math"
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/icmp"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// ICMP is -m icmp, and with V6 set -m icmp6.
type ICMP struct {
	V6               bool
	Any              bool // --icmp-type any (IPv4 only)
	Type             uint8
	CodeMin, CodeMax uint8
	Invert           bool
}

// Name is "icmp" or "icmp6".
func (m *ICMP) Name() string {
	if m.V6 {
		return "icmp6"
	}
	return "icmp"
}

func (m *ICMP) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.V6 {
		dst = xtables.AppendOption(dst, "--icmpv6-type", m.Invert)
	} else {
		dst = xtables.AppendOption(dst, "--icmp-type", m.Invert)
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

func (m *ICMP) anyCode() bool { return m.CodeMin == 0 && m.CodeMax == 255 }

func (m *ICMP) AppendList(dst []byte, style xtables.ListStyle) []byte {
	word := " icmp"
	if m.V6 {
		word = " ipv6-icmp"
	}
	dst = append(dst, word...)
	if !style.Numeric {
		if name := m.typeName(); name != "" {
			return append(append(append(dst, ' '), xtables.Bang(m.Invert)...), name...)
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

func (m *ICMP) Check(c *xtables.CheckContext) syscall.Errno {
	if m.V6 {
		return c.WantProto(libc.ProtoICMPv6)
	}
	return c.WantProto(libc.ProtoICMP)
}

func (m *ICMP) names() []icmp.TypeName {
	if m.V6 {
		return icmp.V6Names
	}
	return icmp.V4Names
}

func (m *ICMP) typeName() string {
	for _, n := range m.names() {
		if m.Any && n.Name == "any" || !m.Any && n.Name != "any" && n.Type == m.Type && n.CodeMin == m.CodeMin && n.CodeMax == m.CodeMax {
			return n.Name
		}
	}
	return ""
}

var (
	icmpExtension = &xtables.Extension{
		Name:     "icmp",
		OnlyIn:   netfilter.IPv4,
		Options:  []xtables.Option{{Name: "icmp-type", Invert: true, Mandatory: true}},
		NewMatch: func() xtables.MatchParser { return &icmpParser{} },
	}
	icmp6Extension = &xtables.Extension{
		Name:     "icmp6",
		OnlyIn:   netfilter.IPv6,
		Options:  []xtables.Option{{Name: "icmpv6-type", Invert: true, Mandatory: true}},
		NewMatch: func() xtables.MatchParser { return &icmpParser{} },
	}
)

type icmpParser struct {
	m     ICMP
	arena xtables.Arena[ICMP]
}

func (p *icmpParser) Begin(f netfilter.Family) { p.m = ICMP{V6: f == netfilter.IPv6} }

func (p *icmpParser) Option(o *xtables.OptionCall) error {
	p.m.Invert = o.Invert
	if found, err := p.byName(o.Arg); found || err != nil {
		return err
	}
	return p.byNumber(o.Arg)
}

// byName looks for a name, or the only name that begins so.
func (p *icmpParser) byName(arg []byte) (bool, error) {
	var match *icmp.TypeName
	names := p.m.names()
	for i := range names {
		n := &names[i]
		if !xtables.BeginsLike(n.Name, arg) {
			continue
		}
		if len(arg) == len(n.Name) {
			match = n
			break
		}
		if match != nil {
			return false, xtables.BadParameter("Ambiguous %s type `%s': `%s' or `%s'?", p.m.kind(), arg, match.Name, n.Name)
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
func (m *ICMP) kind() string {
	if m.V6 {
		return "ICMPv6"
	}
	return "ICMP"
}

// byNumber reads "TYPE[/CODE[:CODE]]".
func (p *icmpParser) byNumber(arg []byte) error {
	t, rest, ok := libc.CutNumber(arg)
	if !ok || t > math.MaxUint8 {
		return xtables.BadParameter("Unknown %s type `%s'", p.m.kind(), arg)
	}
	p.m.Type, p.m.CodeMin, p.m.CodeMax = uint8(t), 0, math.MaxUint8
	p.m.Any = !p.m.V6 && t == math.MaxUint8
	switch {
	case len(rest) == 0:
		return nil
	case rest[0] == ':':
		return xtables.BadParameter("%s type range not supported", p.m.kind())
	case rest[0] != '/':
		return xtables.BadParameter("unknown character %s", rest[:1])
	}
	code, rest, ok := libc.CutNumber(rest[1:])
	if !ok || code > math.MaxUint8 {
		return xtables.BadParameter("Unknown %s code `%s'", p.m.kind(), arg)
	}
	p.m.CodeMin, p.m.CodeMax = uint8(code), uint8(code)
	if len(rest) == 0 {
		return nil
	}
	if rest[0] != ':' {
		return xtables.BadParameter("unknown character %s", rest[:1])
	}
	if code, rest, ok = libc.CutNumber(rest[1:]); !ok || code > math.MaxUint8 {
		return xtables.BadParameter("Unknown %s code `%s'", p.m.kind(), arg)
	}
	p.m.CodeMax = uint8(code)
	if len(rest) > 0 {
		return xtables.BadParameter("unknown character %s", rest[:1])
	}
	return nil
}

func (p *icmpParser) Finish(uint32) (xtables.Match, error) { return p.arena.Intern(p.m), nil }
