package match

import (
	"bytes"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// AddrTypeSet is a set of routing types of an address. The bit numbers are
// those of the kernel's RTN_* values.
type AddrTypeSet uint16

// The address types that -m addrtype knows.
const (
	AddrUnspec AddrTypeSet = 1 << iota
	AddrUnicast
	AddrLocal
	AddrBroadcast
	AddrAnycast
	AddrMulticast
	AddrBlackhole
	AddrUnreachable
	AddrProhibit
	AddrThrow
	AddrNAT
	AddrXResolve
)

// addrTypeNames are the types' names.
var addrTypeNames = xtables.BitNames{Names: xtables.NamesFromBit0("UNSPEC", "UNICAST", "LOCAL", "BROADCAST", "ANYCAST", "MULTICAST",
	"BLACKHOLE", "UNREACHABLE", "PROHIBIT", "THROW", "NAT", "XRESOLVE")}

func (s AddrTypeSet) append(dst []byte) []byte { return addrTypeNames.Append(dst, uint32(s), ",") }

func parseAddrTypes(s []byte) (AddrTypeSet, error) {
	set, bad := addrTypeNames.Parse(s)
	switch {
	case bad == nil:
		return AddrTypeSet(set), nil
	case bytes.IndexByte(bad, ',') >= 0:
		return 0, xtables.BadParameter("addrtype: bad type `%s'", bad)
	}
	return 0, xtables.BadParameter("addrtype: bad type \"%s\"", bad)
}

// Addrtype is -m addrtype.
type Addrtype struct {
	SrcTypes, DstTypes          AddrTypeSet // 0: not asked
	InvSrc, InvDst              bool
	LimitIfaceIn, LimitIfaceOut bool
}

// Name is "addrtype".
func (*Addrtype) Name() string { return "addrtype" }

func (m *Addrtype) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.SrcTypes != 0 {
		dst = m.SrcTypes.append(append(xtables.AppendOption(dst, "--src-type", m.InvSrc), ' '))
	}
	if m.DstTypes != 0 {
		dst = m.DstTypes.append(append(xtables.AppendOption(dst, "--dst-type", m.InvDst), ' '))
	}
	if m.LimitIfaceIn {
		dst = append(dst, " --limit-iface-in"...)
	}
	if m.LimitIfaceOut {
		dst = append(dst, " --limit-iface-out"...)
	}
	return dst
}

func (m *Addrtype) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	dst = append(dst, " ADDRTYPE match"...)
	if m.SrcTypes != 0 {
		dst = m.SrcTypes.append(append(append(dst, " src-type "...), xtables.Bang(m.InvSrc)...))
	}
	if m.DstTypes != 0 {
		dst = m.DstTypes.append(append(append(dst, " dst-type "...), xtables.Bang(m.InvDst)...))
	}
	if m.LimitIfaceIn {
		dst = append(dst, " limit-in"...)
	}
	if m.LimitIfaceOut {
		dst = append(dst, " limit-out"...)
	}
	return dst
}

// Check refuses types that IPv6 does not have.
func (m *Addrtype) Check(c *xtables.CheckContext) syscall.Errno {
	types := m.SrcTypes | m.DstTypes
	if c.Family == netfilter.IPv6 && (types&(AddrBlackhole|AddrBroadcast) != 0 || types >= AddrProhibit) {
		return syscall.EINVAL
	}
	return 0
}

// AllowedHooks leaves out the hooks at which the device that the match is limited to is not known.
func (m *Addrtype) AllowedHooks(hidden bool) xtables.HookMask {
	switch {
	case hidden:
		return xtables.HooksAll
	case m.LimitIfaceIn:
		return xtables.HooksAll &^ (xtables.HookPostrouting | xtables.HookOutput)
	case m.LimitIfaceOut:
		return xtables.HooksAll &^ (xtables.HookPrerouting | xtables.HookInput)
	}
	return xtables.HooksAll
}

var addrtypeExtension = &xtables.Extension{
	Name: "addrtype",
	Options: []xtables.Option{
		{Name: "src-type", Invert: true},
		{Name: "dst-type", Invert: true},
		{Name: "limit-iface-in", Flag: true, Excludes: 1 << 3},
		{Name: "limit-iface-out", Flag: true, Excludes: 1 << 2},
	},
	NewMatch: func() xtables.MatchParser { return &addrtypeParser{} },
}

type addrtypeParser struct {
	m     Addrtype
	arena xtables.Arena[Addrtype]
}

func (p *addrtypeParser) Begin(netfilter.Family) { p.m = Addrtype{} }

func (p *addrtypeParser) Option(o *xtables.OptionCall) (err error) {
	switch o.Name {
	case "src-type":
		p.m.SrcTypes, err = parseAddrTypes(o.Arg)
		p.m.InvSrc = o.Invert
	case "dst-type":
		p.m.DstTypes, err = parseAddrTypes(o.Arg)
		p.m.InvDst = o.Invert
	case "limit-iface-in":
		p.m.LimitIfaceIn = true
	case "limit-iface-out":
		p.m.LimitIfaceOut = true
	}
	return err
}

func (p *addrtypeParser) Finish(uint32) (xtables.Match, error) {
	if p.m.SrcTypes == 0 && p.m.DstTypes == 0 {
		return nil, xtables.BadParameter("addrtype: you must specify --src-type or --dst-type")
	}
	return p.arena.Intern(p.m), nil
}
