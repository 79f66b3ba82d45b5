package fakeipt

import (
	"fmt"
	"math"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetSynproxy is -j SYNPROXY: the host makes the TCP handshake itself before the server hears of the connection.
type TargetSynproxy struct {
	SackPerm, Timestamp, ECN bool
	HasWScale, HasMSS        bool
	WScale                   uint8
	MSS                      uint16
}

// Name is "SYNPROXY".
func (*TargetSynproxy) Name() string { return "SYNPROXY" }

func (t *TargetSynproxy) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return t.appendOptions(dst, " --")
}

func (t *TargetSynproxy) appendList(dst []byte, _ listStyle) []byte {
	return append(t.appendOptions(append(dst, " SYNPROXY"...), " "), ' ')
}

func (t *TargetSynproxy) appendOptions(dst []byte, prefix string) []byte {
	dst = appendFlags(dst, prefix, flagWord{"sack-perm", t.SackPerm}, flagWord{"timestamp", t.Timestamp})
	if t.HasWScale {
		dst = fmt.Appendf(dst, "%swscale %d", prefix, t.WScale)
	}
	if t.HasMSS {
		dst = fmt.Appendf(dst, "%smss %d", prefix, t.MSS)
	}
	return appendFlags(dst, prefix, flagWord{"ecn", t.ECN})
}

func (*TargetSynproxy) check(c *checkContext) syscall.Errno { return c.wantProto(libc.ProtoTCP) }

func (*TargetSynproxy) allowedHooks(bool) hookMask { return hookInput | hookForward }

var synproxyExtension = &extension{
	name: "SYNPROXY",
	options: []optionSpec{{name: "sack-perm", flag: true}, {name: "timestamp", flag: true}, {name: "wscale"}, {name: "mss"},
		{name: "ecn", flag: true}},
	newTarget: func() targetParser { return &synproxyParser{} },
}

type synproxyParser struct {
	t     TargetSynproxy
	arena arena[TargetSynproxy]
}

func (p *synproxyParser) begin(netfilter.Family) { p.t = TargetSynproxy{} }

func (p *synproxyParser) option(o *optionCall) error {
	switch o.name {
	case "sack-perm":
		p.t.SackPerm = true
	case "timestamp":
		p.t.Timestamp = true
	case "ecn":
		p.t.ECN = true
	case "wscale":
		n, err := o.number(0, math.MaxUint32)
		p.t.WScale, p.t.HasWScale = uint8(n), true
		return err
	case "mss":
		n, err := o.number(0, math.MaxUint32)
		p.t.MSS, p.t.HasMSS = uint16(n), true
		return err
	}
	return nil
}

func (p *synproxyParser) finish(uint32) (Target, error) { return p.arena.intern(p.t), nil }
