package target

import (
	"fmt"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// ECN is -j ECN (IPv4 only): it sets what the packet says of congestion. The packet goes on.
type ECN struct {
	// HasECT sets the lower two bits of what -j TOS changes to ECT. The tools compare ECT also where it is not set.
	HasECT bool
	ECT    uint8
	// HasECE and HasCWR set the TCP flags ECE and CWR.
	HasECE, ECE bool
	HasCWR, CWR bool
}

// Name is "ECN".
func (*ECN) Name() string { return "ECN" }

// removes says that the target is --ecn-tcp-remove alone.
func (t *ECN) removes() bool { return t.HasECE && t.HasCWR && !t.ECE && !t.CWR && !t.HasECT }

func (t *ECN) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if t.removes() {
		return append(dst, " --ecn-tcp-remove"...)
	}
	return t.appendOptions(dst, " --ecn-tcp-ece ", " --ecn-tcp-cwr ", " --ecn-ip-ect ")
}

func (t *ECN) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	dst = append(dst, " ECN"...)
	if t.removes() {
		return append(dst, " TCP remove"...)
	}
	return t.appendOptions(dst, " ECE=", " CWR=", " ECT codepoint=")
}

func (t *ECN) appendOptions(dst []byte, ece, cwr, ect string) []byte {
	if t.HasECE {
		dst = append(append(dst, ece...), xtables.Bit(t.ECE))
	}
	if t.HasCWR {
		dst = append(append(dst, cwr...), xtables.Bit(t.CWR))
	}
	if t.HasECT {
		dst = fmt.Appendf(dst, "%s%d", ect, t.ECT)
	}
	return dst
}

func (t *ECN) Check(c *xtables.CheckContext) syscall.Errno {
	if (t.HasECE || t.HasCWR) && c.WantProto(libc.ProtoTCP) != 0 {
		return syscall.EINVAL
	}
	return c.WantTable("mangle")
}

var ecnExtension = &xtables.Extension{
	Name:   "ECN",
	OnlyIn: netfilter.IPv4,
	Options: []xtables.Option{
		{Name: "ecn-tcp-remove", Flag: true, Excludes: 6}, {Name: "ecn-tcp-cwr", Excludes: 1}, {Name: "ecn-tcp-ece", Excludes: 1},
		{Name: "ecn-ip-ect"},
	},
	NewTarget: xtables.TargetOf(xtables.ValueParser[ECN]{Read: (*ECN).read, Whole: (*ECN).whole}),
}

func (t *ECN) read(o *xtables.OptionCall) error {
	if o.Name == "ecn-tcp-remove" {
		// What was to be set in the IP header before is left alone.
		t.HasECE, t.HasCWR, t.HasECT = true, true, false
		return nil
	}
	if o.Name == "ecn-ip-ect" {
		n, err := o.Number(0, xtables.MaxECT)
		t.HasECT, t.ECT = true, uint8(n)
		return err
	}
	n, err := o.Number(0, 1)
	if o.Name == "ecn-tcp-cwr" {
		t.HasCWR, t.CWR = true, n == 1
	} else {
		t.HasECE, t.ECE = true, n == 1
	}
	return err
}

func (*ECN) whole(seen uint32) error {
	if seen == 0 {
		return xtables.BadParameter("ECN target: An operation is required")
	}
	return nil
}
