package fakeipt

import (
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchUDP is -m udp.
type MatchUDP struct {
	SrcPorts, DstPorts PortRange
	InvSrc, InvDst     bool
}

// Name is "udp".
func (*MatchUDP) Name() string { return "udp" }

func (m *MatchUDP) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = appendPortOption(dst, "--sport", m.SrcPorts, m.InvSrc)
	return appendPortOption(dst, "--dport", m.DstPorts, m.InvDst)
}

func (m *MatchUDP) appendList(dst []byte, style listStyle) []byte {
	dst = append(dst, " udp"...)
	dst = appendPortList(dst, " spt", m.SrcPorts, m.InvSrc, style)
	return appendPortList(dst, " dpt", m.DstPorts, m.InvDst, style)
}

func (m *MatchUDP) check(c *checkContext) syscall.Errno {
	if c.dialect == netfilter.NFT && m.nativeInNFT() {
		return 0
	}
	return c.wantProto(libc.ProtoUDP)
}

// nativeInNFT says that the nft tools write the match as expressions of
// nftables, so that the kernel's match is not asked.
func (m *MatchUDP) nativeInNFT() bool {
	return !m.SrcPorts.isAny() || !m.DstPorts.isAny() || m.InvSrc || m.InvDst
}

func (m *MatchUDP) addFact(f *netfilter.Fact) {
	rest := *m
	if rest.DstPorts = anyPort; rest != (MatchUDP{SrcPorts: anyPort, DstPorts: anyPort}) {
		addOther(&f.Conditions, m.Name())
		return
	}
	addPorts(&f.Conditions, m.DstPorts)
}

var udpExtension = &extension{
	name: "udp",
	options: []optionSpec{
		{name: "source-port", invert: true},
		{name: "destination-port", invert: true},
		{name: "sport", aliasOf: "source-port"},
		{name: "dport", aliasOf: "destination-port"},
	},
	newMatch: func() matchParser { return &udpParser{} },
}

type udpParser struct {
	m     MatchUDP
	arena arena[MatchUDP]
}

func (p *udpParser) begin(netfilter.Family) { p.m = MatchUDP{SrcPorts: anyPort, DstPorts: anyPort} }

func (p *udpParser) option(o *optionCall) (err error) {
	ports, invert := &p.m.SrcPorts, &p.m.InvSrc
	if o.name == "destination-port" {
		ports, invert = &p.m.DstPorts, &p.m.InvDst
	}
	*ports, err = o.resolvedPorts()
	*invert = o.invert
	return err
}

func (p *udpParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
