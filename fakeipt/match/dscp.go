package match

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// DSCP is -m dscp: the code point of the packet's service, which is the upper six bits of what -m tos looks at.
type DSCP struct {
	Value  uint8
	Invert bool
}

// Name is "dscp".
func (*DSCP) Name() string { return "dscp" }

func (m *DSCP) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return fmt.Appendf(xtables.AppendOption(dst, "--dscp", m.Invert), " 0x%02x", m.Value)
}

func (m *DSCP) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return fmt.Appendf(dst, " DSCP match %s0x%02x", xtables.Bang(m.Invert), m.Value)
}

var dscpExtension = &xtables.Extension{
	Name:     "dscp",
	Options:  []xtables.Option{{Name: "dscp", Invert: true, Excludes: 2}, {Name: "dscp-class", Invert: true, Excludes: 1}},
	NewMatch: xtables.MatchOf(xtables.ValueParser[DSCP]{Read: (*DSCP).read, Whole: (*DSCP).whole}),
}

func (m *DSCP) read(o *xtables.OptionCall) (err error) {
	m.Value, err = o.DSCP(o.Name == "dscp-class")
	m.Invert = o.Invert
	return err
}

func (*DSCP) whole(seen uint32) error {
	if seen == 0 {
		return xtables.BadParameter("DSCP match: Parameter --dscp is required")
	}
	return nil
}
