package fakeipt

import (
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchESP is -m esp: the index of the security parameters of a packet that IPsec has encrypted.
type MatchESP struct {
	SPI NumberRange
}

// Name is "esp".
func (*MatchESP) Name() string { return "esp" }

func (m *MatchESP) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.SPI.appendSave(dst, "--espspi")
}

func (m *MatchESP) appendList(dst []byte, _ listStyle) []byte {
	return m.SPI.appendList(append(dst, " esp"...), " spi")
}

func (*MatchESP) check(c *checkContext) syscall.Errno { return c.wantProto(libc.ProtoESP) }

var espExtension = &extension{
	name:    "esp",
	options: []optionSpec{{name: "espspi", invert: true}},
	newMatch: matchOf(valueParser[MatchESP]{
		start: func(netfilter.Family) MatchESP { return MatchESP{SPI: anyNumber} },
		read: func(m *MatchESP, o *optionCall) (err error) {
			m.SPI, err = o.numberRange()
			return err
		},
	}),
}
