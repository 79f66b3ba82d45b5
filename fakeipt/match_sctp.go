package fakeipt

import "syscall"

// MatchSCTP is -m sctp, ports only: chunk types are refused.
type MatchSCTP struct {
	SrcPorts, DstPorts PortRange
	InvSrc, InvDst     bool
}

// Name is "sctp".
func (*MatchSCTP) Name() string { return "sctp" }

func (m *MatchSCTP) appendSave(dst []byte, _ Family, _ Dialect) []byte {
	dst = appendPortOption(dst, "--sport", m.SrcPorts, m.InvSrc)
	return appendPortOption(dst, "--dport", m.DstPorts, m.InvDst)
}

func (m *MatchSCTP) appendList(dst []byte, style listStyle) []byte {
	dst = append(dst, " sctp"...)
	dst = appendPortList(dst, " spt", m.SrcPorts, m.InvSrc, style)
	return appendPortList(dst, " dpt", m.DstPorts, m.InvDst, style)
}

func (m *MatchSCTP) check(c *checkContext) syscall.Errno { return c.wantProto(protoSCTP) }

var sctpExtension = &extension{
	name:     "sctp",
	options:  portOptions,
	newMatch: func() matchParser { return &sctpParser{} },
}

type sctpParser struct {
	m     MatchSCTP
	arena arena[MatchSCTP]
	given portsGiven
}

func (p *sctpParser) begin(Family) {
	p.m, p.given = MatchSCTP{SrcPorts: anyPort, DstPorts: anyPort}, portsGiven{proto: protoSCTP}
}

func (p *sctpParser) option(o *optionCall) error {
	switch o.name {
	case "dport", "destination-port":
		return p.given.dst(o, &p.m.DstPorts, &p.m.InvDst)
	}
	return p.given.src(o, &p.m.SrcPorts, &p.m.InvSrc)
}

func (p *sctpParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
