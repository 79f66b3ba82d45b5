package fakeipt

import (
	"fmt"
	"math"
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
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

func (m *MatchICMP) appendSave(dst []byte, _ Family, _ Dialect) []byte {
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

// icmpName is a name of a type, or of one code of it.
type icmpName struct {
	name             string
	number           uint8
	codeMin, codeMax uint8
}

// icmpNames are the names of --icmp-type. The first name of several is the one that is printed.
var icmpNames = []icmpName{
	{"any", 255, 0, 255},
	{"echo-reply", 0, 0, 255}, {"pong", 0, 0, 255},
	{"destination-unreachable", 3, 0, 255},
	{"network-unreachable", 3, 0, 0}, {"host-unreachable", 3, 1, 1}, {"protocol-unreachable", 3, 2, 2},
	{"port-unreachable", 3, 3, 3}, {"fragmentation-needed", 3, 4, 4}, {"source-route-failed", 3, 5, 5},
	{"network-unknown", 3, 6, 6}, {"host-unknown", 3, 7, 7}, {"network-prohibited", 3, 9, 9},
	{"host-prohibited", 3, 10, 10}, {"TOS-network-unreachable", 3, 11, 11}, {"TOS-host-unreachable", 3, 12, 12},
	{"communication-prohibited", 3, 13, 13}, {"host-precedence-violation", 3, 14, 14}, {"precedence-cutoff", 3, 15, 15},
	{"source-quench", 4, 0, 255},
	{"redirect", 5, 0, 255}, {"network-redirect", 5, 0, 0}, {"host-redirect", 5, 1, 1},
	{"TOS-network-redirect", 5, 2, 2}, {"TOS-host-redirect", 5, 3, 3},
	{"echo-request", 8, 0, 255}, {"ping", 8, 0, 255},
	{"router-advertisement", 9, 0, 255}, {"router-solicitation", 10, 0, 255},
	{"time-exceeded", 11, 0, 255}, {"ttl-exceeded", 11, 0, 255},
	{"ttl-zero-during-transit", 11, 0, 0}, {"ttl-zero-during-reassembly", 11, 1, 1},
	{"parameter-problem", 12, 0, 255}, {"ip-header-bad", 12, 0, 0}, {"required-option-missing", 12, 1, 1},
	{"timestamp-request", 13, 0, 255}, {"timestamp-reply", 14, 0, 255},
	{"address-mask-request", 17, 0, 255}, {"address-mask-reply", 18, 0, 255},
}

// icmpv6Names are the names of --icmpv6-type.
var icmpv6Names = []icmpName{
	{"destination-unreachable", 1, 0, 255},
	{"no-route", 1, 0, 0}, {"communication-prohibited", 1, 1, 1}, {"beyond-scope", 1, 2, 2},
	{"address-unreachable", 1, 3, 3}, {"port-unreachable", 1, 4, 4}, {"failed-policy", 1, 5, 5}, {"reject-route", 1, 6, 6},
	{"packet-too-big", 2, 0, 255},
	{"time-exceeded", 3, 0, 255}, {"ttl-exceeded", 3, 0, 255},
	{"ttl-zero-during-transit", 3, 0, 0}, {"ttl-zero-during-reassembly", 3, 1, 1},
	{"parameter-problem", 4, 0, 255}, {"bad-header", 4, 0, 0}, {"unknown-header-type", 4, 1, 1}, {"unknown-option", 4, 2, 2},
	{"echo-request", 128, 0, 255}, {"ping", 128, 0, 255}, {"echo-reply", 129, 0, 255}, {"pong", 129, 0, 255},
	{"mld-listener-query", 130, 0, 255}, {"mld-listener-report", 131, 0, 255}, {"mld-listener-done", 132, 0, 255},
	{"mld-listener-reduction", 132, 0, 255},
	{"router-solicitation", 133, 0, 255}, {"router-advertisement", 134, 0, 255},
	{"neighbour-solicitation", 135, 0, 255}, {"neighbor-solicitation", 135, 0, 255},
	{"neighbour-advertisement", 136, 0, 255}, {"neighbor-advertisement", 136, 0, 255},
	{"redirect", 137, 0, 255},
}

func (m *MatchICMP) names() []icmpName {
	if m.V6 {
		return icmpv6Names
	}
	return icmpNames
}

func (m *MatchICMP) typeName() string {
	for _, n := range m.names() {
		if m.Any && n.name == "any" || !m.Any && n.name != "any" && n.number == m.Type && n.codeMin == m.CodeMin && n.codeMax == m.CodeMax {
			return n.name
		}
	}
	return ""
}

var (
	icmpExtension = &extension{
		name:     "icmp",
		onlyIn:   IPv4,
		options:  []optionSpec{{name: "icmp-type", invert: true, mandatory: true}},
		newMatch: func() matchParser { return &icmpParser{} },
	}
	icmp6Extension = &extension{
		name:     "icmp6",
		onlyIn:   IPv6,
		options:  []optionSpec{{name: "icmpv6-type", invert: true, mandatory: true}},
		newMatch: func() matchParser { return &icmpParser{} },
	}
)

type icmpParser struct {
	m     MatchICMP
	arena arena[MatchICMP]
}

func (p *icmpParser) begin(f Family) { p.m = MatchICMP{V6: f == IPv6} }

func (p *icmpParser) option(o *optionCall) error {
	p.m.Invert = o.invert
	if found, err := p.byName(o.arg); found || err != nil {
		return err
	}
	return p.byNumber(o.arg)
}

// byName looks for a name, or the only name that begins so.
func (p *icmpParser) byName(arg []byte) (bool, error) {
	var match *icmpName
	names := p.m.names()
	for i := range names {
		n := &names[i]
		if !beginsLike(n.name, arg) {
			continue
		}
		if len(arg) == len(n.name) {
			match = n
			break
		}
		if match != nil {
			return false, badParameter("Ambiguous %s type `%s': `%s' or `%s'?", p.m.kind(), arg, match.name, n.name)
		}
		match = n
	}
	if match == nil {
		return false, nil
	}
	p.m.Any = match.name == "any"
	p.m.Type, p.m.CodeMin, p.m.CodeMax = match.number, match.codeMin, match.codeMax
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
		return badParameter("unknown character %c", rest[0])
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
		return badParameter("unknown character %c", rest[0])
	}
	if code, rest, ok = libc.CutNumber(rest[1:]); !ok || code > math.MaxUint8 {
		return badParameter("Unknown %s code `%s'", p.m.kind(), arg)
	}
	p.m.CodeMax = uint8(code)
	if len(rest) > 0 {
		return badParameter("unknown character %c", rest[0])
	}
	return nil
}

func (p *icmpParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
