package target

import (
	"fmt"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// DSCP is -j DSCP: it sets the code point of the packet's service, the upper six bits of what -j TOS changes. The packet goes on.
type DSCP struct {
	Value uint8
}

// Name is "DSCP".
func (*DSCP) Name() string { return "DSCP" }

func (t *DSCP) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return fmt.Appendf(dst, " --set-dscp 0x%02x", t.Value)
}

func (t *DSCP) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return fmt.Appendf(dst, " DSCP set 0x%02x", t.Value)
}

func (*DSCP) Check(c *xtables.CheckContext) syscall.Errno { return c.WantTable("mangle") }

var dscpExtension = &xtables.Extension{
	Name:      "DSCP",
	Options:   []xtables.Option{{Name: "set-dscp", Excludes: 2}, {Name: "set-dscp-class", Excludes: 1}},
	NewTarget: xtables.TargetOf(xtables.ValueParser[DSCP]{Read: (*DSCP).read, Whole: (*DSCP).whole}),
}

func (t *DSCP) read(o *xtables.OptionCall) (err error) {
	t.Value, err = o.DSCP(o.Name == "set-dscp-class")
	return err
}

func (*DSCP) whole(seen uint32) error {
	if seen == 0 {
		return xtables.BadParameter("DSCP target: Parameter --set-dscp is required")
	}
	return nil
}
