package fakeipt

import (
	"slices"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchSCTP is -m sctp: ports, and the chunks of the packet.
type MatchSCTP struct {
	SrcPorts, DstPorts PortRange
	InvSrc, InvDst     bool
	// SrcGiven and DstGiven say that the option is there, even for any port.
	SrcGiven, DstGiven bool
	Chunks             *SCTPChunks // nil: any; equal ones are not the same pointer
}

// Name is "sctp".
func (*MatchSCTP) Name() string { return "sctp" }

func (m *MatchSCTP) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.SrcGiven {
		dst = m.SrcPorts.appendSave(append(appendOption(dst, "--sport", m.InvSrc), ' '))
	}
	if m.DstGiven {
		dst = m.DstPorts.appendSave(append(appendOption(dst, "--dport", m.InvDst), ' '))
	}
	if m.Chunks != nil {
		dst = m.Chunks.append(appendOption(dst, "--chunk-types", m.Chunks.Invert), false)
	}
	return dst
}

func (m *MatchSCTP) appendList(dst []byte, style listStyle) []byte {
	// The kernel's match lists ports in the same way in both dialects.
	style.dialect = netfilter.Legacy
	dst = append(dst, " sctp"...)
	dst = appendPortList(dst, " spt", m.SrcPorts, m.InvSrc, style)
	dst = appendPortList(dst, " dpt", m.DstPorts, m.InvDst, style)
	if m.Chunks != nil {
		if m.Chunks.Invert {
			dst = append(dst, " !"...)
		}
		dst = m.Chunks.append(dst, style.numeric)
	}
	return dst
}

// unlike looks at the flags that are not printed, and at the order in which they were given.
func (m *MatchSCTP) unlike(other any) bool {
	o, ok := other.(*MatchSCTP)
	return !ok || (m.Chunks == nil) != (o.Chunks == nil) || m.Chunks != nil &&
		(!slices.Equal(m.Chunks.Types, o.Chunks.Types) || !slices.Equal(m.Chunks.flagged, o.Chunks.flagged))
}

func (m *MatchSCTP) check(c *checkContext) syscall.Errno { return c.wantProto(libc.ProtoSCTP) }

func (m *MatchSCTP) addFact(f *netfilter.Fact) {
	rest := *m
	rest.DstPorts, rest.DstGiven = anyPort, false
	if rest != (MatchSCTP{SrcPorts: anyPort, DstPorts: anyPort}) {
		addOther(&f.Conditions, m.Name())
		return
	}
	addPorts(&f.Conditions, m.DstPorts)
}

var sctpExtension = &extension{
	name:     "sctp",
	options:  slices.Concat(portOptions, []optionSpec{{name: "chunk-types", invert: true, multi: true}}),
	newMatch: func() matchParser { return &sctpParser{} },
}

type sctpParser struct {
	m     MatchSCTP
	arena arena[MatchSCTP]
	given portsGiven
}

func (p *sctpParser) begin(netfilter.Family) {
	p.m, p.given = MatchSCTP{SrcPorts: anyPort, DstPorts: anyPort}, portsGiven{proto: libc.ProtoSCTP}
}

func (p *sctpParser) option(o *optionCall) error {
	switch o.name {
	case "dport", "destination-port":
		p.m.DstGiven = true
		return p.given.dst(o, &p.m.DstPorts, &p.m.InvDst)
	case "chunk-types":
		return p.chunks(o)
	}
	p.m.SrcGiven = true
	return p.given.src(o, &p.m.SrcPorts, &p.m.InvSrc)
}

func (p *sctpParser) chunks(o *optionCall) error {
	if p.m.Chunks != nil {
		return badParameter("Only one `--chunk-types' allowed")
	}
	list, ok := o.next()
	if !ok {
		return badParameter("--chunk-types requires two args")
	}
	c, err := parseSCTPChunks(o.arg, list)
	if err == nil {
		c.Invert = o.invert
		p.m.Chunks = c
	}
	return err
}

func (p *sctpParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
