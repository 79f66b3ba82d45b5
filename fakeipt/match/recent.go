package match

import (
	"math"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// RecentMode is what -m recent does with its list.
type RecentMode uint8

// The modes: --set, --rcheck, --update and --remove.
const (
	RecentSet RecentMode = iota + 1
	RecentRCheck
	RecentUpdate
	RecentRemove
)

// RecentSide is the address of the packet that -m recent looks at.
type RecentSide uint8

// The sides.
const (
	RecentSource RecentSide = iota // --rsource
	RecentDest                     // --rdest
)

// Recent is -m recent.
type Recent struct {
	List              string
	Mode              RecentMode
	Invert            bool
	Seconds, HitCount uint32
	Reap, TTL         bool
	Mask              netip.Addr
	// MaskGiven says that --mask was given (IPv4). The tools take a rule without it for another rule, though it is
	// saved alike.
	MaskGiven bool
	Side      RecentSide
}

// Name is "recent".
func (*Recent) Name() string { return "recent" }

func (m *Recent) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = xtables.AppendOption(dst, [...]string{"", "--set", "--rcheck", "--update", "--remove"}[m.Mode], m.Invert)
	if m.Seconds != 0 { // numbers are printed as if they were signed
		dst = strconv.AppendInt(append(dst, " --seconds "...), int64(int32(m.Seconds)), 10)
	}
	if m.Reap {
		dst = append(dst, " --reap"...)
	}
	if m.HitCount != 0 {
		dst = strconv.AppendInt(append(dst, " --hitcount "...), int64(int32(m.HitCount)), 10)
	}
	if m.TTL {
		dst = append(dst, " --rttl"...)
	}
	dst = libc.AppendInetNtop(append(append(append(dst, " --name "...), m.List...), " --mask "...), m.Mask)
	if m.Side == RecentDest {
		return append(dst, " --rdest"...)
	}
	return append(dst, " --rsource"...)
}

func (m *Recent) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	if m.Invert {
		dst = append(dst, " !"...)
	}
	dst = append(append(dst, " recent: "...), [...]string{"", "SET", "CHECK", "UPDATE", "REMOVE"}[m.Mode]...)
	if m.Seconds != 0 {
		dst = strconv.AppendInt(append(dst, " seconds: "...), int64(int32(m.Seconds)), 10)
	}
	if m.Reap {
		dst = append(dst, " reap"...)
	}
	if m.HitCount != 0 {
		dst = strconv.AppendInt(append(dst, " hit_count: "...), int64(int32(m.HitCount)), 10)
	}
	if m.TTL {
		dst = append(dst, " TTL-Match"...)
	}
	dst = append(append(dst, " name: "...), m.List...)
	if m.Side == RecentDest {
		dst = append(dst, " side: dest"...)
	} else {
		dst = append(dst, " side: source"...)
	}
	return libc.AppendInetNtop(append(dst, " mask: "...), m.Mask)
}

func (m *Recent) Unlike(other any) bool {
	o, ok := other.(*Recent)
	return ok && o.MaskGiven != m.MaskGiven && m.Mask == xtables.FactsOf(netfilter.IPv4).Ones
}

// maxRecentHits is the greatest --hitcount that the kernel's lists can tell.
const maxRecentHits = 65535

// Check refuses conditions on a list that is only written to.
func (m *Recent) Check(*xtables.CheckContext) syscall.Errno {
	if errno := checkProcName(m.List); errno != 0 {
		return errno
	}
	writes := m.Mode == RecentSet || m.Mode == RecentRemove
	if writes && (m.Seconds != 0 || m.HitCount != 0 || m.TTL) {
		return syscall.EINVAL
	}
	if m.Reap && m.Seconds == 0 || m.HitCount > maxRecentHits {
		return syscall.EINVAL
	}
	return 0
}

func (m *Recent) AddFact(f *netfilter.Fact) {
	xtables.AddOther(&f.Conditions, m.Name())
	f.Memories = append(f.Memories, netfilter.Memory{
		Kind: netfilter.Recent, Name: m.List, Within: time.Duration(m.Seconds) * time.Second,
		Reads: m.Mode != RecentSet, Writes: m.Mode == RecentSet || m.Mode == RecentUpdate, Removes: m.Mode == RecentRemove,
	})
}

var recentExtension = &xtables.Extension{
	Name: "recent",
	Options: []xtables.Option{
		{Name: "set", Flag: true, Invert: true, Excludes: 1<<1 | 1<<2 | 1<<3},
		{Name: "rcheck", Flag: true, Invert: true, Excludes: 1<<0 | 1<<2 | 1<<3},
		{Name: "update", Flag: true, Invert: true, Excludes: 1<<0 | 1<<1 | 1<<3},
		{Name: "remove", Flag: true, Invert: true, Excludes: 1<<0 | 1<<1 | 1<<2},
		{Name: "seconds"},
		{Name: "reap", Flag: true, Requires: 1 << 4},
		{Name: "hitcount"},
		{Name: "rttl", Flag: true, Excludes: 1<<0 | 1<<3},
		{Name: "name"},
		{Name: "mask"},
		{Name: "rsource", Flag: true},
		{Name: "rdest", Flag: true},
	},
	NewMatch: func() xtables.MatchParser { return &recentParser{names: map[string]string{}} },
}

type recentParser struct {
	m     Recent
	slab  xtables.Slab[Recent]
	names map[string]string
}

func (p *recentParser) Begin(f netfilter.Family) {
	p.m = Recent{List: "DEFAULT", Mask: xtables.FactsOf(f).Ones}
}

// maxRecentName is the length of a list's name.
const maxRecentName = 199

func (p *recentParser) Option(o *xtables.OptionCall) error {
	switch o.Name {
	case "set":
		return p.mode(RecentSet, o.Invert)
	case "rcheck":
		return p.mode(RecentRCheck, o.Invert)
	case "update":
		return p.mode(RecentUpdate, o.Invert)
	case "remove":
		return p.mode(RecentRemove, o.Invert)
	case "seconds":
		return p.number(o, &p.m.Seconds, 1)
	case "hitcount":
		return p.number(o, &p.m.HitCount, 0)
	case "reap":
		p.m.Reap = true
	case "rttl":
		p.m.TTL = true
	case "name":
		p.m.List = p.name(o.Arg[:min(len(o.Arg), maxRecentName)])
	case "mask":
		mask, err := o.ResolvedAddr(o.Arg)
		if err != nil {
			return err
		}
		p.m.Mask, p.m.MaskGiven = mask, o.Family == netfilter.IPv4
	case "rsource":
		p.m.Side = RecentSource
	case "rdest":
		p.m.Side = RecentDest
	}
	return nil
}

// name is the list's name as a string; a list has about two rules.
func (p *recentParser) name(arg []byte) string {
	name, ok := p.names[string(arg)]
	if !ok {
		name = string(arg)
		p.names[name] = name
	}
	return name
}

func (p *recentParser) mode(m RecentMode, invert bool) error {
	p.m.Mode, p.m.Invert = m, p.m.Invert || invert
	return nil
}

func (p *recentParser) number(o *xtables.OptionCall, to *uint32, low uint64) error {
	n, err := o.Number(low, math.MaxUint32)
	*to = uint32(n)
	return err
}

func (p *recentParser) Finish(uint32) (xtables.Match, error) {
	if p.m.Mode == 0 {
		return nil, xtables.BadParameter("recent: you must specify one of `--set', `--rcheck' `--update' or `--remove'")
	}
	// Lists seldom repeat, so they are not looked up.
	m := p.slab.Alloc()
	*m = p.m
	return m, nil
}
