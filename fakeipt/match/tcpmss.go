package match

import (
	"math"
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TCPMSS is -m tcpmss: the greatest segment that the TCP packet announces.
type TCPMSS struct {
	Min, Max uint16
	Invert   bool
}

// Name is "tcpmss".
func (*TCPMSS) Name() string { return "tcpmss" }

func (m *TCPMSS) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.appendRange(append(xtables.AppendOption(dst, "--mss", m.Invert), ' '))
}

func (m *TCPMSS) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return m.appendRange(append(append(dst, " tcpmss match "...), xtables.Bang(m.Invert)...))
}

func (m *TCPMSS) appendRange(dst []byte) []byte {
	dst = strconv.AppendUint(dst, uint64(m.Min), 10)
	if m.Min != m.Max {
		dst = strconv.AppendUint(append(dst, ':'), uint64(m.Max), 10)
	}
	return dst
}

func (*TCPMSS) Check(c *xtables.CheckContext) syscall.Errno { return c.WantProto(libc.ProtoTCP) }

var tcpmssExtension = &xtables.Extension{
	Name:     "tcpmss",
	Options:  []xtables.Option{{Name: "mss", Invert: true, Mandatory: true}},
	NewMatch: xtables.MatchOf(xtables.ValueParser[TCPMSS]{Read: (*TCPMSS).read}),
}

func (m *TCPMSS) read(o *xtables.OptionCall) error {
	low, high, err := o.Numbers(math.MaxUint16)
	if err == nil && low > high {
		return xtables.BadParameter("tcpmss: invalid range given")
	}
	*m = TCPMSS{Min: uint16(low), Max: uint16(high), Invert: o.Invert}
	return err
}
