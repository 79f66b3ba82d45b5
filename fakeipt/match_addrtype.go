package fakeipt

import (
	"bytes"
	"syscall"

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
var addrTypeNames = bitNames{names: namesFromBit0("UNSPEC", "UNICAST", "LOCAL", "BROADCAST", "ANYCAST", "MULTICAST", "BLACKHOLE",
	"UNREACHABLE", "PROHIBIT", "THROW", "NAT", "XRESOLVE")}

func (s AddrTypeSet) append(dst []byte) []byte { return addrTypeNames.append(dst, uint32(s), ",") }

func parseAddrTypes(s []byte) (AddrTypeSet, error) {
	set, bad := addrTypeNames.parse(s)
	switch {
	case bad == nil:
		return AddrTypeSet(set), nil
	case bytes.IndexByte(bad, ',') >= 0:
		return 0, badParameter("addrtype: bad type `%s'", bad)
	}
	return 0, badParameter("addrtype: bad type \"%s\"", bad)
}

// MatchAddrtype is -m addrtype.
type MatchAddrtype struct {
	SrcTypes, DstTypes          AddrTypeSet // 0: not asked
	InvSrc, InvDst              bool
	LimitIfaceIn, LimitIfaceOut bool
}

// Name is "addrtype".
func (*MatchAddrtype) Name() string { return "addrtype" }

func (m *MatchAddrtype) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.SrcTypes != 0 {
		dst = m.SrcTypes.append(append(appendOption(dst, "--src-type", m.InvSrc), ' '))
	}
	if m.DstTypes != 0 {
		dst = m.DstTypes.append(append(appendOption(dst, "--dst-type", m.InvDst), ' '))
	}
	if m.LimitIfaceIn {
		dst = append(dst, " --limit-iface-in"...)
	}
	if m.LimitIfaceOut {
		dst = append(dst, " --limit-iface-out"...)
	}
	return dst
}

func (m *MatchAddrtype) appendList(dst []byte, _ listStyle) []byte {
	dst = append(dst, " ADDRTYPE match"...)
	if m.SrcTypes != 0 {
		dst = m.SrcTypes.append(append(append(dst, " src-type "...), bang(m.InvSrc)...))
	}
	if m.DstTypes != 0 {
		dst = m.DstTypes.append(append(append(dst, " dst-type "...), bang(m.InvDst)...))
	}
	if m.LimitIfaceIn {
		dst = append(dst, " limit-in"...)
	}
	if m.LimitIfaceOut {
		dst = append(dst, " limit-out"...)
	}
	return dst
}

// check refuses types that IPv6 does not have.
func (m *MatchAddrtype) check(c *checkContext) syscall.Errno {
	types := m.SrcTypes | m.DstTypes
	if c.family == netfilter.IPv6 && (types&(AddrBlackhole|AddrBroadcast) != 0 || types >= AddrProhibit) {
		return syscall.EINVAL
	}
	return 0
}

// allowedHooks leaves out the hooks at which the device that the match is limited to is not known.
func (m *MatchAddrtype) allowedHooks(hidden bool) hookMask {
	switch {
	case hidden:
		return hooksAll
	case m.LimitIfaceIn:
		return hooksAll &^ (hookPostrouting | hookOutput)
	case m.LimitIfaceOut:
		return hooksAll &^ (hookPrerouting | hookInput)
	}
	return hooksAll
}

var addrtypeExtension = &extension{
	name: "addrtype",
	options: []optionSpec{
		{name: "src-type", invert: true},
		{name: "dst-type", invert: true},
		{name: "limit-iface-in", flag: true, excludes: 1 << 3},
		{name: "limit-iface-out", flag: true, excludes: 1 << 2},
	},
	newMatch: func() matchParser { return &addrtypeParser{} },
}

type addrtypeParser struct {
	m     MatchAddrtype
	arena arena[MatchAddrtype]
}

func (p *addrtypeParser) begin(netfilter.Family) { p.m = MatchAddrtype{} }

func (p *addrtypeParser) option(o *optionCall) (err error) {
	switch o.name {
	case "src-type":
		p.m.SrcTypes, err = parseAddrTypes(o.arg)
		p.m.InvSrc = o.invert
	case "dst-type":
		p.m.DstTypes, err = parseAddrTypes(o.arg)
		p.m.InvDst = o.invert
	case "limit-iface-in":
		p.m.LimitIfaceIn = true
	case "limit-iface-out":
		p.m.LimitIfaceOut = true
	}
	return err
}

func (p *addrtypeParser) finish(uint32) (Match, error) {
	if p.m.SrcTypes == 0 && p.m.DstTypes == 0 {
		return nil, badParameter("addrtype: you must specify --src-type or --dst-type")
	}
	return p.arena.intern(p.m), nil
}
