package target

import (
	"fmt"
	"math"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TCPMSS is -j TCPMSS: it lowers the greatest segment that a SYN announces. The packet goes on.
type TCPMSS struct {
	MSS         uint16 // of --set-mss
	ClampToPMTU bool   // --clamp-mss-to-pmtu
}

// Name is "TCPMSS".
func (*TCPMSS) Name() string { return "TCPMSS" }

func (t *TCPMSS) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if t.ClampToPMTU {
		return append(dst, " --clamp-mss-to-pmtu"...)
	}
	return fmt.Appendf(dst, " --set-mss %d", t.MSS)
}

func (t *TCPMSS) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	if t.ClampToPMTU {
		return append(dst, " TCPMSS clamp to PMTU"...)
	}
	return fmt.Appendf(dst, " TCPMSS set %d", t.MSS)
}

// Check wants the rule to match SYNs only. The nft code cannot see the other matches.
func (t *TCPMSS) Check(c *xtables.CheckContext) syscall.Errno {
	if c.WantProto(libc.ProtoTCP) != 0 {
		return syscall.EINVAL
	}
	if c.Dialect == netfilter.NFT {
		return 0
	}
	for _, m := range c.Rule.Matches {
		if tcp, ok := m.(*match.TCP); ok && tcp.FlagComp&tcpSYN != 0 && !tcp.InvFlags {
			return 0
		}
	}
	return syscall.EINVAL
}

// tcpSYN is the bit of the SYN flag.
const tcpSYN = 0x02

// AllowedHooks of the clamp are those at which the route is known.
func (t *TCPMSS) AllowedHooks(hidden bool) xtables.HookMask {
	if t.ClampToPMTU && !hidden {
		return xtables.HookForward | xtables.HookOutput | xtables.HookPostrouting
	}
	return xtables.HooksAll
}

var tcpmssExtension = &xtables.Extension{
	Name:      "TCPMSS",
	Options:   []xtables.Option{{Name: "set-mss"}, {Name: "clamp-mss-to-pmtu", Flag: true}},
	NewTarget: func() xtables.TargetParser { return &tcpmssParser{} },
}

type tcpmssParser struct {
	t     TCPMSS
	arena xtables.Arena[TCPMSS]
}

func (p *tcpmssParser) Begin(netfilter.Family) { p.t = TCPMSS{} }

func (p *tcpmssParser) Option(o *xtables.OptionCall) error {
	// The last of the two counts.
	if o.Name == "clamp-mss-to-pmtu" {
		p.t = TCPMSS{ClampToPMTU: true}
		return nil
	}
	headers := uint64(20)
	if o.Family == netfilter.IPv6 {
		headers = 40
	}
	n, err := o.Number(0, math.MaxUint16-headers)
	p.t = TCPMSS{MSS: uint16(n)}
	return err
}

func (p *tcpmssParser) Finish(seen uint32) (xtables.Target, error) {
	if seen == 0 {
		return nil, xtables.BadParameter("TCPMSS target: At least one parameter is required")
	}
	return p.arena.Intern(p.t), nil
}
