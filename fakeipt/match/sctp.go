package match

import (
	"slices"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// SCTP is -m sctp: ports, and the chunks of the packet.
type SCTP struct {
	SrcPorts, DstPorts xtables.PortRange
	InvSrc, InvDst     bool
	// SrcGiven and DstGiven say that the option is there, even for any port.
	SrcGiven, DstGiven bool
	Chunks             *SCTPChunks // nil: any; equal ones are not the same pointer
}

// Name is "sctp".
func (*SCTP) Name() string { return "sctp" }

func (m *SCTP) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.SrcGiven {
		dst = m.SrcPorts.AppendSave(append(xtables.AppendOption(dst, "--sport", m.InvSrc), ' '))
	}
	if m.DstGiven {
		dst = m.DstPorts.AppendSave(append(xtables.AppendOption(dst, "--dport", m.InvDst), ' '))
	}
	if m.Chunks != nil {
		dst = m.Chunks.append(xtables.AppendOption(dst, "--chunk-types", m.Chunks.Invert), false)
	}
	return dst
}

func (m *SCTP) AppendList(dst []byte, style xtables.ListStyle) []byte {
	// The kernel's match lists ports in the same way in both dialects.
	style.Dialect = netfilter.Legacy
	dst = append(dst, " sctp"...)
	dst = xtables.AppendPortList(dst, " spt", m.SrcPorts, m.InvSrc, style)
	dst = xtables.AppendPortList(dst, " dpt", m.DstPorts, m.InvDst, style)
	if m.Chunks != nil {
		if m.Chunks.Invert {
			dst = append(dst, " !"...)
		}
		dst = m.Chunks.append(dst, style.Numeric)
	}
	return dst
}

// Unlike looks at the flags that are not printed, and at the order in which they were given.
func (m *SCTP) Unlike(other any) bool {
	o, ok := other.(*SCTP)
	return !ok || (m.Chunks == nil) != (o.Chunks == nil) || m.Chunks != nil &&
		(!slices.Equal(m.Chunks.Types, o.Chunks.Types) || !slices.Equal(m.Chunks.flagged, o.Chunks.flagged))
}

func (m *SCTP) Check(c *xtables.CheckContext) syscall.Errno { return c.WantProto(libc.ProtoSCTP) }

func (m *SCTP) AddFact(f *netfilter.Fact) {
	rest := *m
	rest.DstPorts, rest.DstGiven = xtables.AnyPort, false
	if rest != (SCTP{SrcPorts: xtables.AnyPort, DstPorts: xtables.AnyPort}) {
		xtables.AddOther(&f.Conditions, m.Name())
		return
	}
	xtables.AddPorts(&f.Conditions, m.DstPorts)
}

var sctpExtension = &xtables.Extension{
	Name:     "sctp",
	Options:  slices.Concat(xtables.PortOptions, []xtables.Option{{Name: "chunk-types", Invert: true, Multi: true}}),
	NewMatch: func() xtables.MatchParser { return &sctpParser{} },
}

type sctpParser struct {
	m     SCTP
	arena xtables.Arena[SCTP]
	given xtables.PortsGiven
}

func (p *sctpParser) Begin(netfilter.Family) {
	p.m, p.given = SCTP{SrcPorts: xtables.AnyPort, DstPorts: xtables.AnyPort}, xtables.PortsGiven{Proto: libc.ProtoSCTP}
}

func (p *sctpParser) Option(o *xtables.OptionCall) error {
	switch o.Name {
	case "dport", "destination-port":
		p.m.DstGiven = true
		return p.given.Dst(o, &p.m.DstPorts, &p.m.InvDst)
	case "chunk-types":
		return p.chunks(o)
	}
	p.m.SrcGiven = true
	return p.given.Src(o, &p.m.SrcPorts, &p.m.InvSrc)
}

func (p *sctpParser) chunks(o *xtables.OptionCall) error {
	if p.m.Chunks != nil {
		return xtables.BadParameter("Only one `--chunk-types' allowed")
	}
	list, ok := o.Next()
	if !ok {
		return xtables.BadParameter("--chunk-types requires two args")
	}
	c, err := parseSCTPChunks(o.Arg, list)
	if err == nil {
		c.Invert = o.Invert
		p.m.Chunks = c
	}
	return err
}

func (p *sctpParser) Finish(uint32) (xtables.Match, error) { return p.arena.Intern(p.m), nil }
