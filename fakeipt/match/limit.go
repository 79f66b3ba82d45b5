package match

import (
	"fmt"
	"math"
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Limit is -m limit: a bucket of Burst packets that gains one each Interval.
type Limit struct {
	// Interval is the time of one packet, in units of 1/10000 s.
	Interval uint32
	// Burst is the size of the bucket. With 0, which only the nft tools take, the kernel makes it 5.
	Burst uint32
}

const (
	limitScale    = 10000 // units of MatchLimit.Interval in a second
	limitBurst    = 5
	maxLimitBurst = 10000
)

// Name is "limit".
func (*Limit) Name() string { return "limit" }

func (m *Limit) AppendSave(dst []byte, _ netfilter.Family, d netfilter.Dialect) []byte {
	n := m.in(d)
	dst = appendRate(append(dst, " --limit "...), uint64(n.Interval), limitScale)
	if n.Burst != limitBurst {
		dst = strconv.AppendUint(append(dst, " --limit-burst "...), uint64(n.Burst), 10)
	}
	return dst
}

func (m *Limit) AppendList(dst []byte, style xtables.ListStyle) []byte {
	n := m.in(style.Dialect)
	dst = appendRate(append(dst, " limit: avg "...), uint64(n.Interval), limitScale)
	return fmt.Appendf(dst, " burst %d", n.Burst)
}

// in is the match as the tools of a dialect read it back. The nft tools keep a
// whole number of packets in a unit of time, not the time of one packet.
func (m *Limit) in(d netfilter.Dialect) Limit {
	n := *m
	if d == netfilter.Legacy {
		return n
	}
	unit := rateUnitOf(uint64(n.Interval), limitScale)
	n.Interval = uint32(unit / (unit / uint64(n.Interval)))
	return n
}

// Rate is the rate that the nft tools write: packets in a time of so many seconds.
func (m *Limit) Rate() (packets, seconds uint64) {
	unit := rateUnitOf(uint64(m.Interval), limitScale)
	return unit / uint64(m.Interval), unit / limitScale
}

// Kept: the kernel of nftables makes a burst of 0 the usual one.
func (m *Limit) Kept(d netfilter.Dialect) (any, bool) {
	return &Limit{Interval: m.Interval, Burst: limitBurst}, d == netfilter.NFT && m.Burst == 0
}

// limitCredits is what the kernel keeps of a time, with its clock of 250 ticks a second.
func limitCredits(units uint32) uint32 {
	const perSecond = 250 * 128
	if units > math.MaxUint32/perSecond {
		return units / limitScale * perSecond
	}
	return units * perSecond / limitScale
}

// Check refuses a bucket that is too big for the kernel's counter.
func (m *Limit) Check(c *xtables.CheckContext) syscall.Errno {
	if c.Dialect == netfilter.Legacy && (m.Burst == 0 || limitCredits(m.Interval*m.Burst) < limitCredits(m.Interval)) {
		return syscall.ERANGE
	}
	return 0
}

var limitExtension = &xtables.Extension{
	Name:     "limit",
	Options:  []xtables.Option{{Name: "limit"}, {Name: "limit-burst"}},
	NewMatch: func() xtables.MatchParser { return &limitParser{} },
}

type limitParser struct {
	m     Limit
	arena xtables.Arena[Limit]
}

func (p *limitParser) Begin(netfilter.Family) {
	p.m = Limit{Interval: limitScale * 3600 / 3, Burst: limitBurst}
}

func (p *limitParser) Option(o *xtables.OptionCall) error {
	if o.Name == "limit-burst" {
		n, err := o.Number(0, maxLimitBurst)
		p.m.Burst = uint32(n)
		return err
	}
	period, _, ok, err := parseRate(o.Arg, uint64(libc.Atoi(o.Arg)), limitScale)
	if err == nil && !ok {
		err = xtables.BadParameter("bad rate \"%s\"'", o.Arg)
	}
	p.m.Interval = uint32(period)
	return err
}

func (p *limitParser) Finish(uint32) (xtables.Match, error) { return p.arena.Intern(p.m), nil }
