package fakeipt

import (
	"math"
	"net/netip"
	"strconv"
	"syscall"
	"time"

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

// MatchRecent is -m recent.
type MatchRecent struct {
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
func (*MatchRecent) Name() string { return "recent" }

func (m *MatchRecent) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = appendOption(dst, [...]string{"", "--set", "--rcheck", "--update", "--remove"}[m.Mode], m.Invert)
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

func (m *MatchRecent) appendList(dst []byte, _ listStyle) []byte {
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

func (m *MatchRecent) unlike(other any) bool {
	o, ok := other.(*MatchRecent)
	return ok && o.MaskGiven != m.MaskGiven && m.Mask == factsOf(netfilter.IPv4).ones
}

// maxRecentHits is the greatest --hitcount that the kernel's lists can tell.
const maxRecentHits = 65535

// check refuses conditions on a list that is only written to.
func (m *MatchRecent) check(*checkContext) syscall.Errno {
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

func (m *MatchRecent) addFact(f *netfilter.Fact) {
	addOther(&f.Conditions, m.Name())
	f.Memories = append(f.Memories, netfilter.Memory{
		Kind: netfilter.Recent, Name: m.List, Within: time.Duration(m.Seconds) * time.Second,
		Reads: m.Mode != RecentSet, Writes: m.Mode == RecentSet || m.Mode == RecentUpdate, Removes: m.Mode == RecentRemove,
	})
}

var recentExtension = &extension{
	name: "recent",
	options: []optionSpec{
		{name: "set", flag: true, invert: true, excludes: 1<<1 | 1<<2 | 1<<3},
		{name: "rcheck", flag: true, invert: true, excludes: 1<<0 | 1<<2 | 1<<3},
		{name: "update", flag: true, invert: true, excludes: 1<<0 | 1<<1 | 1<<3},
		{name: "remove", flag: true, invert: true, excludes: 1<<0 | 1<<1 | 1<<2},
		{name: "seconds"},
		{name: "reap", flag: true, requires: 1 << 4},
		{name: "hitcount"},
		{name: "rttl", flag: true, excludes: 1<<0 | 1<<3},
		{name: "name"},
		{name: "mask"},
		{name: "rsource", flag: true},
		{name: "rdest", flag: true},
	},
	newMatch: func() matchParser { return &recentParser{names: map[string]string{}} },
}

type recentParser struct {
	m     MatchRecent
	slab  slab[MatchRecent]
	names map[string]string
}

func (p *recentParser) begin(f netfilter.Family) {
	p.m = MatchRecent{List: "DEFAULT", Mask: factsOf(f).ones}
}

// maxRecentName is the length of a list's name.
const maxRecentName = 199

func (p *recentParser) option(o *optionCall) error {
	switch o.name {
	case "set":
		return p.mode(RecentSet, o.invert)
	case "rcheck":
		return p.mode(RecentRCheck, o.invert)
	case "update":
		return p.mode(RecentUpdate, o.invert)
	case "remove":
		return p.mode(RecentRemove, o.invert)
	case "seconds":
		return p.number(o, &p.m.Seconds, 1)
	case "hitcount":
		return p.number(o, &p.m.HitCount, 0)
	case "reap":
		p.m.Reap = true
	case "rttl":
		p.m.TTL = true
	case "name":
		p.m.List = p.name(o.arg[:min(len(o.arg), maxRecentName)])
	case "mask":
		mask, err := o.resolvedAddr(o.arg, o.family)
		if err != nil {
			return err
		}
		p.m.Mask, p.m.MaskGiven = mask, o.family == netfilter.IPv4
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

func (p *recentParser) number(o *optionCall, to *uint32, low uint64) error {
	n, err := o.number(low, math.MaxUint32)
	*to = uint32(n)
	return err
}

func (p *recentParser) finish(uint32) (Match, error) {
	if p.m.Mode == 0 {
		return nil, badParameter("recent: you must specify one of `--set', `--rcheck' `--update' or `--remove'")
	}
	// Lists seldom repeat, so they are not looked up.
	m := p.slab.alloc()
	*m = p.m
	return m, nil
}
