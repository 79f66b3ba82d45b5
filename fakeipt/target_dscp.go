package fakeipt

import (
	"fmt"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetDSCP is -j DSCP: it sets the code point of the packet's service, the upper six bits of what -j TOS changes. The packet goes on.
type TargetDSCP struct {
	Value uint8
}

// Name is "DSCP".
func (*TargetDSCP) Name() string { return "DSCP" }

func (t *TargetDSCP) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return fmt.Appendf(dst, " --set-dscp 0x%02x", t.Value)
}

func (t *TargetDSCP) appendList(dst []byte, _ listStyle) []byte {
	return fmt.Appendf(dst, " DSCP set 0x%02x", t.Value)
}

func (*TargetDSCP) check(c *checkContext) syscall.Errno { return c.wantTable("mangle") }

var dscpTargetExtension = &extension{
	name:      "DSCP",
	options:   []optionSpec{{name: "set-dscp", excludes: 2}, {name: "set-dscp-class", excludes: 1}},
	newTarget: targetOf(valueParser[TargetDSCP]{read: (*TargetDSCP).read, whole: (*TargetDSCP).whole}),
}

func (t *TargetDSCP) read(o *optionCall) (err error) {
	t.Value, err = o.dscp(o.name == "set-dscp-class")
	return err
}

func (*TargetDSCP) whole(seen uint32) error {
	if seen == 0 {
		return badParameter("DSCP target: Parameter --set-dscp is required")
	}
	return nil
}
