package match

import (
	"math"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
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
	ctStateNames = xtables.BitNames{Names: xtables.NamesFromBit0("INVALID", "NEW", "RELATED", "ESTABLISHED", "UNTRACKED", "SNAT", "DNAT")}
	stateNames   = xtables.BitNames{Names: ctStateNames.Names[:5]}
)

func (s CTState) append(dst []byte) []byte { return ctStateNames.Append(dst, uint32(s), ",") }

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

var ctStatusNames = xtables.BitNames{Names: xtables.NamesFromBit0("EXPECTED", "SEEN_REPLY", "ASSURED", "CONFIRMED"), None: "NONE"}

func (s CTStatus) append(dst []byte) []byte { return ctStatusNames.Append(dst, uint32(s), ",") }

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
	xtables.PortRange
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

// Conntrack is -m conntrack. Every pointer is nil where the option is not given.
type Conntrack struct {
	States    CTState // 0: no --ctstate
	InvStates bool
	Proto     *xtables.ProtoMatch
	Status    *StatusMatch
	Expire    *ExpireRange
	OrigSrc   *xtables.AddrMatch
	OrigDst   *xtables.AddrMatch
	ReplSrc   *xtables.AddrMatch
	ReplDst   *xtables.AddrMatch

	OrigSrcPort, OrigDstPort *PortRangeInv
	ReplSrcPort, ReplDstPort *PortRangeInv

	Direction CTDirection
}

// Name is "conntrack".
func (*Conntrack) Name() string { return "conntrack" }

func (m *Conntrack) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.appendOptions(dst, "--", xtables.ListStyle{Numeric: true})
}

func (m *Conntrack) AppendList(dst []byte, style xtables.ListStyle) []byte {
	return m.appendOptions(dst, "", style)
}

// appendOptions writes every option behind a prefix: "--" for iptables-save, nothing in a listing.
func (m *Conntrack) appendOptions(dst []byte, prefix string, style xtables.ListStyle) []byte {
	option := func(name string, invert bool) {
		dst = append(xtables.AppendOption(dst, prefix+name, invert), ' ')
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
			dst = listConnectionAddr(style, dst, *a.match)
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
	return p.AppendSave(dst)
}

func (e *ExpireRange) append(dst []byte) []byte {
	dst = strconv.AppendUint(dst, uint64(e.Min), 10)
	if e.Min != e.Max {
		dst = strconv.AppendUint(append(dst, ':'), uint64(e.Max), 10)
	}
	return dst
}

// listConnectionAddr appends an address of a connection, of which a listing leaves out the one that is zero, whatever its mask.
func listConnectionAddr(style xtables.ListStyle, dst []byte, m *xtables.AddrMatch) []byte {
	if !style.Numeric && m.Addr.IsUnspecified() {
		return append(dst, "anywhere"...)
	}
	return style.AppendNetwork(dst, m)
}

type ctAddress struct {
	name  string
	match **xtables.AddrMatch
}

type ctPort struct {
	name  string
	match **PortRangeInv
}

func (m *Conntrack) addresses() [4]ctAddress {
	return [4]ctAddress{{"ctorigsrc", &m.OrigSrc}, {"ctorigdst", &m.OrigDst}, {"ctreplsrc", &m.ReplSrc}, {"ctrepldst", &m.ReplDst}}
}

func (m *Conntrack) ports() [4]ctPort {
	return [4]ctPort{{"ctorigsrcport", &m.OrigSrcPort}, {"ctorigdstport", &m.OrigDstPort},
		{"ctreplsrcport", &m.ReplSrcPort}, {"ctrepldstport", &m.ReplDstPort}}
}

func (m *Conntrack) AddFact(f *netfilter.Fact) {
	if *m != (Conntrack{States: m.States}) {
		xtables.AddOther(&f.Conditions, m.Name())
		return
	}
	addStates(&f.Conditions, m.States)
}

var conntrackExtension = &xtables.Extension{
	Name: "conntrack",
	Options: []xtables.Option{
		{Name: "ctstate", Invert: true}, {Name: "ctproto", Invert: true},
		{Name: "ctorigsrc", Invert: true}, {Name: "ctorigdst", Invert: true},
		{Name: "ctreplsrc", Invert: true}, {Name: "ctrepldst", Invert: true},
		{Name: "ctorigsrcport", Invert: true}, {Name: "ctorigdstport", Invert: true},
		{Name: "ctreplsrcport", Invert: true}, {Name: "ctrepldstport", Invert: true},
		{Name: "ctstatus", Invert: true}, {Name: "ctexpire", Invert: true}, {Name: "ctdir"},
	},
	NewMatch: func() xtables.MatchParser { return &conntrackParser{} },
}

type conntrackParser struct {
	m     Conntrack
	arena xtables.Arena[Conntrack]
}

func (p *conntrackParser) Begin(netfilter.Family) { p.m = Conntrack{} }

func (p *conntrackParser) Option(o *xtables.OptionCall) error {
	switch o.Name {
	case "ctstate":
		states, bad := ctStateNames.Parse(o.Arg)
		if bad != nil {
			return xtables.BadParameter("Bad ctstate \"%s\"", bad)
		}
		p.m.States, p.m.InvStates = CTState(states), o.Invert
	case "ctproto":
		n, err := xtables.ParseProtocol(o.Arg)
		if err != nil {
			return err
		}
		if n == 0 && p.m.Status != nil && p.m.Status.Invert {
			// The tool takes the flag of another option for this one's.
			return xtables.BadParameter("conntrack: rule would never match protocol")
		}
		p.m.Proto = &xtables.ProtoMatch{Number: uint16(uint8(n)), Invert: o.Invert}
	case "ctstatus":
		status, bad := ctStatusNames.Parse(o.Arg)
		if bad != nil {
			return xtables.BadParameter("Bad ctstatus \"%s\"", bad)
		}
		p.m.Status = &StatusMatch{Status: CTStatus(status), Invert: o.Invert}
	case "ctexpire":
		return p.expire(o)
	case "ctdir":
		return p.direction(o)
	default:
		return p.tuple(o)
	}
	return nil
}

func (p *conntrackParser) expire(o *xtables.OptionCall) error {
	low, high, err := o.Numbers(math.MaxUint32)
	if err != nil {
		return err
	}
	p.m.Expire = &ExpireRange{Min: uint32(low), Max: uint32(high), Invert: o.Invert}
	return nil
}

func (p *conntrackParser) direction(o *xtables.OptionCall) error {
	switch strings.ToUpper(string(o.Arg)) {
	case "ORIGINAL":
		p.m.Direction = CTDirOriginal
	case "REPLY":
		p.m.Direction = CTDirReply
	default:
		return xtables.BadParameter("conntrack: Bad value for \"--ctdir\" option: \"%s\"", o.Arg)
	}
	return nil
}

// tuple reads the options about addresses and ports of the connection.
func (p *conntrackParser) tuple(o *xtables.OptionCall) error {
	for _, a := range p.m.addresses() {
		if a.name == o.Name {
			m, err := o.ResolvedHostMask()
			*a.match = &m
			return err
		}
	}
	for _, port := range p.m.ports() {
		if port.name == o.Name {
			r, err := o.ResolvedPorts()
			*port.match = &PortRangeInv{PortRange: r, Invert: o.Invert}
			return err
		}
	}
	return xtables.BadParameter("unknown option \"--%s\"", o.Name)
}

func (p *conntrackParser) Finish(seen uint32) (xtables.Match, error) {
	if seen == 0 {
		return nil, xtables.BadParameter("conntrack: At least one option is required")
	}
	return p.arena.Intern(p.m), nil
}

// addStates adds the states that a connection may have.
func addStates(c *netfilter.Conditions, states CTState) {
	for _, state := range ctStateNames.Names {
		if uint32(states)&state.Bit != 0 {
			c.States = append(c.States, state.Name)
		}
	}
}
