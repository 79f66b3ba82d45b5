package match

import (
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// UDP is -m udp.
type UDP struct {
	SrcPorts, DstPorts xtables.PortRange
	InvSrc, InvDst     bool
}

// Name is "udp".
func (*UDP) Name() string { return "udp" }

func (m *UDP) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = xtables.AppendPortOption(dst, "--sport", m.SrcPorts, m.InvSrc)
	return xtables.AppendPortOption(dst, "--dport", m.DstPorts, m.InvDst)
}

func (m *UDP) AppendList(dst []byte, style xtables.ListStyle) []byte {
	dst = append(dst, " udp"...)
	dst = xtables.AppendPortList(dst, " spt", m.SrcPorts, m.InvSrc, style)
	return xtables.AppendPortList(dst, " dpt", m.DstPorts, m.InvDst, style)
}

func (m *UDP) Check(c *xtables.CheckContext) syscall.Errno {
	if c.Dialect == netfilter.NFT && m.NativeInNFT() {
		return 0
	}
	return c.WantProto(libc.ProtoUDP)
}

// NativeInNFT says that the nft tools write the match as expressions of
// nftables, so that the kernel's match is not asked.
func (m *UDP) NativeInNFT() bool {
	return !m.SrcPorts.IsAny() || !m.DstPorts.IsAny() || m.InvSrc || m.InvDst
}

// ReadsOtherwise says that the nft tools read another match back.
func (m *UDP) ReadsOtherwise() bool { return m.InvSrc || m.InvDst }

// ReadInto reads the match's expressions into an earlier match of the rule; nil: there is none.
func (m *UDP) ReadInto(before xtables.Match) xtables.Match {
	to, _ := before.(*UDP)
	if to == nil {
		if m.SrcPorts.IsAny() && m.DstPorts.IsAny() {
			return nil
		}
		to = &UDP{SrcPorts: xtables.AnyPort, DstPorts: xtables.AnyPort}
	}
	m.SrcPorts.ReadInto(&to.SrcPorts, &to.InvSrc, m.InvSrc)
	m.DstPorts.ReadInto(&to.DstPorts, &to.InvDst, m.InvDst)
	return to
}

func (m *UDP) AddFact(f *netfilter.Fact) {
	rest := *m
	if rest.DstPorts = xtables.AnyPort; rest != (UDP{SrcPorts: xtables.AnyPort, DstPorts: xtables.AnyPort}) {
		xtables.AddOther(&f.Conditions, m.Name())
		return
	}
	xtables.AddPorts(&f.Conditions, m.DstPorts)
}

var udpExtension = &xtables.Extension{
	Name: "udp",
	Options: []xtables.Option{
		{Name: "source-port", Invert: true},
		{Name: "destination-port", Invert: true},
		{Name: "sport", AliasOf: "source-port"},
		{Name: "dport", AliasOf: "destination-port"},
	},
	NewMatch: func() xtables.MatchParser { return &udpParser{} },
}

type udpParser struct {
	m     UDP
	arena xtables.Arena[UDP]
}

func (p *udpParser) Begin(netfilter.Family) {
	p.m = UDP{SrcPorts: xtables.AnyPort, DstPorts: xtables.AnyPort}
}

func (p *udpParser) Option(o *xtables.OptionCall) (err error) {
	ports, invert := &p.m.SrcPorts, &p.m.InvSrc
	if o.Name == "destination-port" {
		ports, invert = &p.m.DstPorts, &p.m.InvDst
	}
	*ports, err = o.ResolvedPorts()
	*invert = o.Invert
	return err
}

func (p *udpParser) Finish(uint32) (xtables.Match, error) { return p.arena.Intern(p.m), nil }
