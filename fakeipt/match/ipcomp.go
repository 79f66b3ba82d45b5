package match

import (
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// IPComp is -m ipcomp: the index of the parameters (CPI) of a packet that is compressed (RFC 3173).
type IPComp struct {
	CPI      xtables.NumberRange // 0 if the rule does not say it
	Reserved bool                // the reserved field is 0
}

// Name is "ipcomp".
func (*IPComp) Name() string { return "ipcomp" }

func (m *IPComp) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return xtables.AppendFlags(m.CPI.AppendSave(dst, "--ipcompspi"), " --", xtables.WordIf("compres", m.Reserved))
}

func (m *IPComp) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return xtables.AppendFlags(m.CPI.AppendList(append(dst, " comp "...), "spi"), " ", xtables.WordIf("reserved", m.Reserved))
}

func (*IPComp) Check(c *xtables.CheckContext) syscall.Errno { return c.WantProto(libc.ProtoIPComp) }

var ipcompExtension = &xtables.Extension{
	Name:     "ipcomp",
	Options:  []xtables.Option{{Name: "ipcompspi", Invert: true}, {Name: "compres", Flag: true}},
	NewMatch: xtables.MatchOf(xtables.ValueParser[IPComp]{Read: (*IPComp).read}),
}

func (m *IPComp) read(o *xtables.OptionCall) (err error) {
	if o.Name == "compres" {
		m.Reserved = true
		return nil
	}
	m.CPI, err = o.NumberRange()
	return err
}
