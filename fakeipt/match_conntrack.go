package fakeipt

import (
	"math"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// CTState is a set of conntrack states, of --ctstate and of --state.
type CTState uint16

// The states. CTSNAT and CTDNAT say that the connection's source or
// destination is translated.
const (
	CTInvalid CTState = 1 << iota
	CTNew
	CTRelated
	CTEstablished
	CTUntracked
	CTSNAT
	CTDNAT
)

// ctStateNames are the states' names in the order of iptables-save. -m state knows no translations.
var (
	ctStateNames = bitNames{names: namesFromBit0("INVALID", "NEW", "RELATED", "ESTABLISHED", "UNTRACKED", "SNAT", "DNAT")}
	stateNames   = bitNames{names: ctStateNames.names[:5]}
)

func (s CTState) append(dst []byte) []byte { return ctStateNames.append(dst, uint32(s), ",") }

// CTStatus is a set of conntrack status bits, of --ctstatus.
type CTStatus uint8

// The status bits, with the kernel's values. CTStatusNone is the empty status.
const (
	CTStatusNone      CTStatus = 0
	CTStatusExpected  CTStatus = 1
	CTStatusSeenReply CTStatus = 2
	CTStatusAssured   CTStatus = 4
	CTStatusConfirmed CTStatus = 8
)

var ctStatusNames = bitNames{names: namesFromBit0("EXPECTED", "SEEN_REPLY", "ASSURED", "CONFIRMED"), none: "NONE"}

func (s CTStatus) append(dst []byte) []byte { return ctStatusNames.append(dst, uint32(s), ",") }

// CTDirection is --ctdir.
type CTDirection uint8

// The directions.
const (
	CTDirAny CTDirection = iota
	CTDirOriginal
	CTDirReply
)

// PortRangeInv is a range of ports, or with Invert every port outside of it.
type PortRangeInv struct {
	PortRange
	Invert bool
}

// ExpireRange is --ctexpire: the remaining seconds of the entry.
type ExpireRange struct {
	Min, Max uint32
	Invert   bool
}

// StatusMatch is --ctstatus: any of the bits of Status, or none at all.
type StatusMatch struct {
	Status CTStatus
	Invert bool
}

// MatchConntrack is -m conntrack. Every pointer is nil where the option is not given.
type MatchConntrack struct {
	States    CTState // 0: no --ctstate
	InvStates bool
	Proto     *ProtoMatch
	Status    *StatusMatch
	Expire    *ExpireRange
	OrigSrc   *AddrMatch
	OrigDst   *AddrMatch
	ReplSrc   *AddrMatch
	ReplDst   *AddrMatch

	OrigSrcPort, OrigDstPort *PortRangeInv
	ReplSrcPort, ReplDstPort *PortRangeInv

	Direction CTDirection
}

// Name is "conntrack".
func (*MatchConntrack) Name() string { return "conntrack" }

func (m *MatchConntrack) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.appendOptions(dst, "--", listStyle{numeric: true})
}

func (m *MatchConntrack) appendList(dst []byte, style listStyle) []byte {
	return m.appendOptions(dst, "", style)
}

// appendOptions writes every option behind a prefix: "--" for iptables-save, nothing in a listing.
func (m *MatchConntrack) appendOptions(dst []byte, prefix string, style listStyle) []byte {
	option := func(name string, invert bool) {
		dst = append(appendOption(dst, prefix+name, invert), ' ')
	}
	if m.States != 0 {
		option("ctstate", m.InvStates)
		dst = m.States.append(dst)
	}
	if m.Proto != nil {
		option("ctproto", m.Proto.Invert)
		dst = strconv.AppendUint(dst, uint64(m.Proto.Number), 10)
	}
	for _, a := range m.addresses() {
		if *a.match != nil {
			option(a.name, (*a.match).Invert)
			dst = style.appendConnectionAddr(dst, *a.match)
		}
	}
	for _, p := range m.ports() {
		if *p.match != nil {
			option(p.name, (*p.match).Invert)
			dst = (*p.match).append(dst)
		}
	}
	if m.Status != nil {
		option("ctstatus", m.Status.Invert)
		dst = m.Status.Status.append(dst)
	}
	if m.Expire != nil {
		option("ctexpire", m.Expire.Invert)
		dst = m.Expire.append(dst)
	}
	if m.Direction != CTDirAny {
		option("ctdir", false)
		dst = append(dst, [...]string{"", "ORIGINAL", "REPLY"}[m.Direction]...)
	}
	return dst
}

// append: the tool takes a last port of 0 for none.
func (p *PortRangeInv) append(dst []byte) []byte {
	if p.Max == 0 {
		return strconv.AppendUint(dst, uint64(p.Min), 10)
	}
	return p.appendSave(dst)
}

func (e *ExpireRange) append(dst []byte) []byte {
	dst = strconv.AppendUint(dst, uint64(e.Min), 10)
	if e.Min != e.Max {
		dst = strconv.AppendUint(append(dst, ':'), uint64(e.Max), 10)
	}
	return dst
}

// appendConnectionAddr appends an address of a connection, of which a listing leaves out the one that is zero, whatever its mask.
func (style listStyle) appendConnectionAddr(dst []byte, m *AddrMatch) []byte {
	if !style.numeric && m.Addr.IsUnspecified() {
		return append(dst, "anywhere"...)
	}
	return style.appendNetwork(dst, m)
}

type ctAddress struct {
	name  string
	match **AddrMatch
}

type ctPort struct {
	name  string
	match **PortRangeInv
}

func (m *MatchConntrack) addresses() [4]ctAddress {
	return [4]ctAddress{{"ctorigsrc", &m.OrigSrc}, {"ctorigdst", &m.OrigDst}, {"ctreplsrc", &m.ReplSrc}, {"ctrepldst", &m.ReplDst}}
}

func (m *MatchConntrack) ports() [4]ctPort {
	return [4]ctPort{{"ctorigsrcport", &m.OrigSrcPort}, {"ctorigdstport", &m.OrigDstPort},
		{"ctreplsrcport", &m.ReplSrcPort}, {"ctrepldstport", &m.ReplDstPort}}
}

func (m *MatchConntrack) addFact(f *netfilter.Fact) {
	if *m != (MatchConntrack{States: m.States}) {
		addOther(&f.Conditions, m.Name())
		return
	}
	addStates(&f.Conditions, m.States)
}

var conntrackExtension = &extension{
	name: "conntrack",
	options: []optionSpec{
		{name: "ctstate", invert: true}, {name: "ctproto", invert: true},
		{name: "ctorigsrc", invert: true}, {name: "ctorigdst", invert: true},
		{name: "ctreplsrc", invert: true}, {name: "ctrepldst", invert: true},
		{name: "ctorigsrcport", invert: true}, {name: "ctorigdstport", invert: true},
		{name: "ctreplsrcport", invert: true}, {name: "ctrepldstport", invert: true},
		{name: "ctstatus", invert: true}, {name: "ctexpire", invert: true}, {name: "ctdir"},
	},
	newMatch: func() matchParser { return &conntrackParser{} },
}

type conntrackParser struct {
	m     MatchConntrack
	arena arena[MatchConntrack]
}

func (p *conntrackParser) begin(netfilter.Family) { p.m = MatchConntrack{} }

func (p *conntrackParser) option(o *optionCall) error {
	switch o.name {
	case "ctstate":
		states, bad := ctStateNames.parse(o.arg)
		if bad != nil {
			return badParameter("Bad ctstate \"%s\"", bad)
		}
		p.m.States, p.m.InvStates = CTState(states), o.invert
	case "ctproto":
		n, err := parseProtocol(o.arg)
		if err != nil {
			return err
		}
		if n == 0 && p.m.Status != nil && p.m.Status.Invert {
			// The tool takes the flag of another option for this one's.
			return badParameter("conntrack: rule would never match protocol")
		}
		p.m.Proto = &ProtoMatch{Number: uint16(uint8(n)), Invert: o.invert}
	case "ctstatus":
		status, bad := ctStatusNames.parse(o.arg)
		if bad != nil {
			return badParameter("Bad ctstatus \"%s\"", bad)
		}
		p.m.Status = &StatusMatch{Status: CTStatus(status), Invert: o.invert}
	case "ctexpire":
		return p.expire(o)
	case "ctdir":
		return p.direction(o)
	default:
		return p.tuple(o)
	}
	return nil
}

func (p *conntrackParser) expire(o *optionCall) error {
	low, high, err := o.numbers(math.MaxUint32)
	if err != nil {
		return err
	}
	p.m.Expire = &ExpireRange{Min: uint32(low), Max: uint32(high), Invert: o.invert}
	return nil
}

func (p *conntrackParser) direction(o *optionCall) error {
	switch strings.ToUpper(string(o.arg)) {
	case "ORIGINAL":
		p.m.Direction = CTDirOriginal
	case "REPLY":
		p.m.Direction = CTDirReply
	default:
		return badParameter("conntrack: Bad value for \"--ctdir\" option: \"%s\"", o.arg)
	}
	return nil
}

// tuple reads the options about addresses and ports of the connection.
func (p *conntrackParser) tuple(o *optionCall) error {
	for _, a := range p.m.addresses() {
		if a.name == o.name {
			m, err := o.resolvedHostMask()
			*a.match = &m
			return err
		}
	}
	for _, port := range p.m.ports() {
		if port.name == o.name {
			r, err := o.resolvedPorts()
			*port.match = &PortRangeInv{PortRange: r, Invert: o.invert}
			return err
		}
	}
	return badParameter("unknown option \"--%s\"", o.name)
}

func (p *conntrackParser) finish(seen uint32) (Match, error) {
	if seen == 0 {
		return nil, badParameter("conntrack: At least one option is required")
	}
	return p.arena.intern(p.m), nil
}
