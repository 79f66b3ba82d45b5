package fakeipt

import (
	"fmt"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// maxECT is the greatest value of the two bits of the IP header that tell of congestion.
const maxECT = 3

// MatchECN is -m ecn: what the packet says of congestion (RFC 3168).
type MatchECN struct {
	// HasECT asks for ECT, the lower two bits of what -m tos looks at.
	HasECT bool
	ECT    uint8
	InvECT bool
	// ECE and CWR ask for the TCP flags of those names.
	ECE, InvECE bool
	CWR, InvCWR bool
}

// Name is "ecn".
func (*MatchECN) Name() string { return "ecn" }

func (m *MatchECN) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.ECE {
		dst = appendOption(dst, "--ecn-tcp-ece", m.InvECE)
	}
	if m.CWR {
		dst = appendOption(dst, "--ecn-tcp-cwr", m.InvCWR)
	}
	if m.HasECT {
		dst = fmt.Appendf(appendOption(dst, "--ecn-ip-ect", m.InvECT), " %d", m.ECT)
	}
	return dst
}

func (m *MatchECN) appendList(dst []byte, _ listStyle) []byte {
	dst = append(dst, " ECN match"...)
	dst = appendFlags(dst, " "+bang(m.InvECE), flagWord{"ECE", m.ECE})
	dst = appendFlags(dst, " "+bang(m.InvCWR), flagWord{"CWR", m.CWR})
	if m.HasECT {
		dst = fmt.Appendf(dst, " %sECT=%d", bang(m.InvECT), m.ECT)
	}
	return dst
}

func (m *MatchECN) check(c *checkContext) syscall.Errno {
	if m.ECE || m.CWR {
		return c.wantProto(libc.ProtoTCP)
	}
	return 0
}

var ecnExtension = &extension{
	name: "ecn",
	options: []optionSpec{
		{name: "ecn-tcp-cwr", flag: true, invert: true}, {name: "ecn-tcp-ece", flag: true, invert: true}, {name: "ecn-ip-ect", invert: true},
	},
	newMatch: matchOf(valueParser[MatchECN]{read: (*MatchECN).read, whole: (*MatchECN).whole}),
}

func (m *MatchECN) read(o *optionCall) error {
	switch o.name {
	case "ecn-tcp-cwr":
		m.CWR, m.InvCWR = true, o.invert
		return nil
	case "ecn-tcp-ece":
		m.ECE, m.InvECE = true, o.invert
		return nil
	}
	n, err := o.number(0, maxECT)
	m.HasECT, m.ECT, m.InvECT = true, uint8(n), o.invert
	return err
}

func (*MatchECN) whole(seen uint32) error {
	if seen == 0 {
		return badParameter("ECN match: some option required")
	}
	return nil
}
