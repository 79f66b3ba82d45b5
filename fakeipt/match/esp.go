package match

import (
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// ESP is -m esp: the index of the security parameters of a packet that IPsec has encrypted.
type ESP struct {
	SPI xtables.NumberRange
}

// Name is "esp".
func (*ESP) Name() string { return "esp" }

func (m *ESP) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.SPI.AppendSave(dst, "--espspi")
}

func (m *ESP) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return m.SPI.AppendList(append(dst, " esp"...), " spi")
}

func (*ESP) Check(c *xtables.CheckContext) syscall.Errno { return c.WantProto(libc.ProtoESP) }

var espExtension = &xtables.Extension{
	Name:    "esp",
	Options: []xtables.Option{{Name: "espspi", Invert: true}},
	NewMatch: xtables.MatchOf(xtables.ValueParser[ESP]{
		Start: func(netfilter.Family) ESP { return ESP{SPI: xtables.AnyNumber} },
		Read: func(m *ESP, o *xtables.OptionCall) (err error) {
			m.SPI, err = o.NumberRange()
			return err
		},
	}),
}
