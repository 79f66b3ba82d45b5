package fakeipt

import (
	"math"
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchTCPMSS is -m tcpmss: the greatest segment that the TCP packet announces.
type MatchTCPMSS struct {
	Min, Max uint16
	Invert   bool
}

// Name is "tcpmss".
func (*MatchTCPMSS) Name() string { return "tcpmss" }

func (m *MatchTCPMSS) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.appendRange(append(appendOption(dst, "--mss", m.Invert), ' '))
}

func (m *MatchTCPMSS) appendList(dst []byte, _ listStyle) []byte {
	return m.appendRange(append(append(dst, " tcpmss match "...), bang(m.Invert)...))
}

func (m *MatchTCPMSS) appendRange(dst []byte) []byte {
	dst = strconv.AppendUint(dst, uint64(m.Min), 10)
	if m.Min != m.Max {
		dst = strconv.AppendUint(append(dst, ':'), uint64(m.Max), 10)
	}
	return dst
}

func (*MatchTCPMSS) check(c *checkContext) syscall.Errno { return c.wantProto(libc.ProtoTCP) }

var tcpmssMatchExtension = &extension{
	name:     "tcpmss",
	options:  []optionSpec{{name: "mss", invert: true, mandatory: true}},
	newMatch: matchOf(valueParser[MatchTCPMSS]{read: (*MatchTCPMSS).read}),
}

func (m *MatchTCPMSS) read(o *optionCall) error {
	low, high, err := o.numbers(math.MaxUint16)
	if err == nil && low > high {
		return badParameter("tcpmss: invalid range given")
	}
	*m = MatchTCPMSS{Min: uint16(low), Max: uint16(high), Invert: o.invert}
	return err
}
