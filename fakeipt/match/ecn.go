package match

import (
	"fmt"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// ECN is -m ecn: what the packet says of congestion (RFC 3168).
type ECN struct {
	// HasECT asks for ECT, the lower two bits of what -m tos looks at.
	HasECT bool
	ECT    uint8
	InvECT bool
	// ECE and CWR ask for the TCP flags of those names.
	ECE, InvECE bool
	CWR, InvCWR bool
}

// Name is "ecn".
func (*ECN) Name() string { return "ecn" }

func (m *ECN) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.ECE {
		dst = xtables.AppendOption(dst, "--ecn-tcp-ece", m.InvECE)
	}
	if m.CWR {
		dst = xtables.AppendOption(dst, "--ecn-tcp-cwr", m.InvCWR)
	}
	if m.HasECT {
		dst = fmt.Appendf(xtables.AppendOption(dst, "--ecn-ip-ect", m.InvECT), " %d", m.ECT)
	}
	return dst
}

func (m *ECN) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	dst = append(dst, " ECN match"...)
	dst = xtables.AppendFlags(dst, " "+xtables.Bang(m.InvECE), xtables.WordIf("ECE", m.ECE))
	dst = xtables.AppendFlags(dst, " "+xtables.Bang(m.InvCWR), xtables.WordIf("CWR", m.CWR))
	if m.HasECT {
		dst = fmt.Appendf(dst, " %sECT=%d", xtables.Bang(m.InvECT), m.ECT)
	}
	return dst
}

func (m *ECN) Check(c *xtables.CheckContext) syscall.Errno {
	if m.ECE || m.CWR {
		return c.WantProto(libc.ProtoTCP)
	}
	return 0
}

var ecnExtension = &xtables.Extension{
	Name: "ecn",
	Options: []xtables.Option{
		{Name: "ecn-tcp-cwr", Flag: true, Invert: true}, {Name: "ecn-tcp-ece", Flag: true, Invert: true}, {Name: "ecn-ip-ect", Invert: true},
	},
	NewMatch: xtables.MatchOf(xtables.ValueParser[ECN]{Read: (*ECN).read, Whole: (*ECN).whole}),
}

func (m *ECN) read(o *xtables.OptionCall) error {
	switch o.Name {
	case "ecn-tcp-cwr":
		m.CWR, m.InvCWR = true, o.Invert
		return nil
	case "ecn-tcp-ece":
		m.ECE, m.InvECE = true, o.Invert
		return nil
	}
	n, err := o.Number(0, xtables.MaxECT)
	m.HasECT, m.ECT, m.InvECT = true, uint8(n), o.Invert
	return err
}

func (*ECN) whole(seen uint32) error {
	if seen == 0 {
		return xtables.BadParameter("ECN match: some option required")
	}
	return nil
}
