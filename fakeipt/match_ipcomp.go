package fakeipt

import (
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchIPComp is -m ipcomp: the index of the parameters (CPI) of a packet that is compressed (RFC 3173).
type MatchIPComp struct {
	CPI      NumberRange // 0 if the rule does not say it
	Reserved bool        // the reserved field is 0
}

// Name is "ipcomp".
func (*MatchIPComp) Name() string { return "ipcomp" }

func (m *MatchIPComp) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return appendFlags(m.CPI.appendSave(dst, "--ipcompspi"), " --", flagWord{"compres", m.Reserved})
}

func (m *MatchIPComp) appendList(dst []byte, _ listStyle) []byte {
	return appendFlags(m.CPI.appendList(append(dst, " comp "...), "spi"), " ", flagWord{"reserved", m.Reserved})
}

func (*MatchIPComp) check(c *checkContext) syscall.Errno { return c.wantProto(libc.ProtoIPComp) }

var ipcompExtension = &extension{
	name:     "ipcomp",
	options:  []optionSpec{{name: "ipcompspi", invert: true}, {name: "compres", flag: true}},
	newMatch: matchOf(valueParser[MatchIPComp]{read: (*MatchIPComp).read}),
}

func (m *MatchIPComp) read(o *optionCall) (err error) {
	if o.name == "compres" {
		m.Reserved = true
		return nil
	}
	m.CPI, err = o.numberRange()
	return err
}
