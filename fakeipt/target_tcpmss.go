package fakeipt

import (
	"fmt"
	"math"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetTCPMSS is -j TCPMSS: it lowers the greatest segment that a SYN announces. The packet goes on.
type TargetTCPMSS struct {
	MSS         uint16 // of --set-mss
	ClampToPMTU bool   // --clamp-mss-to-pmtu
}

// Name is "TCPMSS".
func (*TargetTCPMSS) Name() string { return "TCPMSS" }

func (t *TargetTCPMSS) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if t.ClampToPMTU {
		return append(dst, " --clamp-mss-to-pmtu"...)
	}
	return fmt.Appendf(dst, " --set-mss %d", t.MSS)
}

func (t *TargetTCPMSS) appendList(dst []byte, _ listStyle) []byte {
	if t.ClampToPMTU {
		return append(dst, " TCPMSS clamp to PMTU"...)
	}
	return fmt.Appendf(dst, " TCPMSS set %d", t.MSS)
}

// check wants the rule to match SYNs only. The nft code cannot see the other matches.
func (t *TargetTCPMSS) check(c *checkContext) syscall.Errno {
	if c.wantProto(libc.ProtoTCP) != 0 {
		return syscall.EINVAL
	}
	if c.dialect == netfilter.NFT {
		return 0
	}
	for _, m := range c.rule.Matches {
		if tcp, ok := m.(*MatchTCP); ok && tcp.FlagComp&tcpSYN != 0 && !tcp.InvFlags {
			return 0
		}
	}
	return syscall.EINVAL
}

// tcpSYN is the bit of the SYN flag.
const tcpSYN = 0x02

// allowedHooks of the clamp are those at which the route is known.
func (t *TargetTCPMSS) allowedHooks(hidden bool) hookMask {
	if t.ClampToPMTU && !hidden {
		return hookForward | hookOutput | hookPostrouting
	}
	return hooksAll
}

var tcpmssExtension = &extension{
	name:      "TCPMSS",
	options:   []optionSpec{{name: "set-mss"}, {name: "clamp-mss-to-pmtu", flag: true}},
	newTarget: func() targetParser { return &tcpmssParser{} },
}

type tcpmssParser struct {
	t     TargetTCPMSS
	arena arena[TargetTCPMSS]
}

func (p *tcpmssParser) begin(netfilter.Family) { p.t = TargetTCPMSS{} }

func (p *tcpmssParser) option(o *optionCall) error {
	// The last of the two counts.
	if o.name == "clamp-mss-to-pmtu" {
		p.t = TargetTCPMSS{ClampToPMTU: true}
		return nil
	}
	headers := uint64(20)
	if o.family == netfilter.IPv6 {
		headers = 40
	}
	n, err := o.number(0, math.MaxUint16-headers)
	p.t = TargetTCPMSS{MSS: uint16(n)}
	return err
}

func (p *tcpmssParser) finish(seen uint32) (Target, error) {
	if seen == 0 {
		return nil, badParameter("TCPMSS target: At least one parameter is required")
	}
	return p.arena.intern(p.t), nil
}
