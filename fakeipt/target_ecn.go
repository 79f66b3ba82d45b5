package fakeipt

import (
	"fmt"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetECN is -j ECN (IPv4 only): it sets what the packet says of congestion. The packet goes on.
type TargetECN struct {
	// HasECT sets the lower two bits of what -j TOS changes to ECT. The tools compare ECT also where it is not set.
	HasECT bool
	ECT    uint8
	// HasECE and HasCWR set the TCP flags ECE and CWR.
	HasECE, ECE bool
	HasCWR, CWR bool
}

// Name is "ECN".
func (*TargetECN) Name() string { return "ECN" }

// removes says that the target is --ecn-tcp-remove alone.
func (t *TargetECN) removes() bool { return t.HasECE && t.HasCWR && !t.ECE && !t.CWR && !t.HasECT }

func (t *TargetECN) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if t.removes() {
		return append(dst, " --ecn-tcp-remove"...)
	}
	return t.appendOptions(dst, " --ecn-tcp-ece ", " --ecn-tcp-cwr ", " --ecn-ip-ect ")
}

func (t *TargetECN) appendList(dst []byte, _ listStyle) []byte {
	dst = append(dst, " ECN"...)
	if t.removes() {
		return append(dst, " TCP remove"...)
	}
	return t.appendOptions(dst, " ECE=", " CWR=", " ECT codepoint=")
}

func (t *TargetECN) appendOptions(dst []byte, ece, cwr, ect string) []byte {
	if t.HasECE {
		dst = append(append(dst, ece...), bit(t.ECE))
	}
	if t.HasCWR {
		dst = append(append(dst, cwr...), bit(t.CWR))
	}
	if t.HasECT {
		dst = fmt.Appendf(dst, "%s%d", ect, t.ECT)
	}
	return dst
}

// bit is '0' or '1'.
func bit(set bool) byte {
	if set {
		return '1'
	}
	return '0'
}

func (t *TargetECN) check(c *checkContext) syscall.Errno {
	if (t.HasECE || t.HasCWR) && c.wantProto(libc.ProtoTCP) != 0 {
		return syscall.EINVAL
	}
	return c.wantTable("mangle")
}

var ecnTargetExtension = &extension{
	name:   "ECN",
	onlyIn: netfilter.IPv4,
	options: []optionSpec{
		{name: "ecn-tcp-remove", flag: true, excludes: 6}, {name: "ecn-tcp-cwr", excludes: 1}, {name: "ecn-tcp-ece", excludes: 1},
		{name: "ecn-ip-ect"},
	},
	newTarget: targetOf(valueParser[TargetECN]{read: (*TargetECN).read, whole: (*TargetECN).whole}),
}

func (t *TargetECN) read(o *optionCall) error {
	if o.name == "ecn-tcp-remove" {
		// What was to be set in the IP header before is left alone.
		t.HasECE, t.HasCWR, t.HasECT = true, true, false
		return nil
	}
	if o.name == "ecn-ip-ect" {
		n, err := o.number(0, maxECT)
		t.HasECT, t.ECT = true, uint8(n)
		return err
	}
	n, err := o.number(0, 1)
	if o.name == "ecn-tcp-cwr" {
		t.HasCWR, t.CWR = true, n == 1
	} else {
		t.HasECE, t.ECE = true, n == 1
	}
	return err
}

func (*TargetECN) whole(seen uint32) error {
	if seen == 0 {
		return badParameter("ECN target: An operation is required")
	}
	return nil
}
