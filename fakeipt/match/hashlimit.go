package match

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// HashlimitKey is a set of what -m hashlimit keeps apart.
type HashlimitKey uint8

// The parts of a key, with the kernel's bits: of --hashlimit-mode.
const (
	HashlimitDstIP HashlimitKey = 1 << iota
	HashlimitDstPort
	HashlimitSrcIP
	HashlimitSrcPort
)

// hashlimitKeys are the names of the parts.
var hashlimitKeys = xtables.BitNames{Names: []xtables.BitName{
	{Name: "srcip", Bit: uint32(HashlimitSrcIP)}, {Name: "srcport", Bit: uint32(HashlimitSrcPort)},
	{Name: "dstip", Bit: uint32(HashlimitDstIP)}, {Name: "dstport", Bit: uint32(HashlimitDstPort)},
}}

// Hashlimit is -m hashlimit: a bucket for each key.
type Hashlimit struct {
	Table string // --hashlimit-name; rules with the same name share buckets
	// Above is --hashlimit-above: it matches beyond the rate and not below it.
	Above bool
	// Interval is the time of one packet in units of 1/1000000 s; of a rate of
	// bytes (Bytes set) it is the cost of 16 bytes as the kernel keeps it.
	Interval uint64
	// Burst is the size of the bucket in packets; of a rate of bytes it is in
	// seconds of that rate, 0: not given.
	Burst uint64
	Bytes bool
	Key   HashlimitKey
	// SrcMask and DstMask are the lengths of the prefixes that are one key.
	SrcMask, DstMask uint8
	// Size and Max are the size of the table and its most entries; 0: the kernel's choice.
	Size, Max uint32
	// GCInterval and Expire are milliseconds.
	GCInterval, Expire uint32
	// RateMatch is --hashlimit-rate-match, with the seconds of --hashlimit-rate-interval.
	RateMatch    bool
	RateInterval uint32
}

const (
	hashlimitScale      = 1000000 // units of MatchHashlimit.Interval in a second
	hashlimitGCInterval = 1000
	maxHashlimitBurst   = 1000000
	// A rate of bytes is counted in 16 bytes.
	hashlimitByteShift       = 4
	hashlimitByteExpire      = 15
	hashlimitByteExpireBurst = 60
)

// Name is "hashlimit".
func (*Hashlimit) Name() string { return "hashlimit" }

func (m *Hashlimit) AppendSave(dst []byte, f netfilter.Family, _ netfilter.Dialect) []byte {
	word := " --hashlimit-upto "
	if m.Above {
		word = " --hashlimit-above "
	}
	return m.appendOptions(append(dst, word...), " --hashlimit-", ",", f)
}

func (m *Hashlimit) AppendList(dst []byte, style xtables.ListStyle) []byte {
	word := " limit: up to "
	if m.Above {
		word = " limit: above "
	}
	return m.appendOptions(append(dst, word...), " ", "-", style.Family)
}

func (m *Hashlimit) Unlike(other any) bool {
	o, ok := other.(*Hashlimit)
	return ok && o.RateInterval != m.RateInterval
}

// maxHashlimitTable is the number of buckets and of entries to which the kernel holds a table.
const maxHashlimitTable = 1 << 20

// Kept: the kernel writes into the rule what it makes of the sizes.
func (m *Hashlimit) Kept(netfilter.Dialect) (any, bool) {
	other := *m
	other.Size, other.Max = min(m.Size, maxHashlimitTable), min(m.Max, maxHashlimitTable)
	return &other, other != *m
}

// appendOptions appends the rate and all that is not as by default, each word behind a prefix.
func (m *Hashlimit) appendOptions(dst []byte, prefix, separator string, f netfilter.Family) []byte {
	save := prefix != " "
	dst, expire := m.appendLimit(dst, prefix)
	if m.Key != 0 {
		dst = hashlimitKeys.Append(fmt.Appendf(dst, "%smode ", prefix), uint32(m.Key), separator)
	}
	if save {
		dst = fmt.Appendf(dst, "%sname %s", prefix, m.Table)
	}
	number := func(word string, n, unless uint32) {
		if n != unless {
			dst = fmt.Appendf(dst, "%s%s %d", prefix, word, n)
		}
	}
	bits := uint32(xtables.FactsOf(f).Bits)
	number("htable-size", m.Size, 0)
	number("htable-max", m.Max, 0)
	number("htable-gcinterval", m.GCInterval, hashlimitGCInterval)
	number("htable-expire", m.Expire, expire)
	number("srcmask", uint32(m.SrcMask), bits)
	number("dstmask", uint32(m.DstMask), bits)
	if m.RateMatch {
		dst = append(append(dst, prefix...), "rate-match"...)
		number("rate-interval", m.RateInterval, 1)
	}
	return dst
}

// appendLimit appends the rate and the burst; it returns the expiry that goes without saying.
func (m *Hashlimit) appendLimit(dst []byte, prefix string) ([]byte, uint32) {
	if m.Bytes {
		return m.appendBytes(dst, strings.TrimPrefix(prefix, " "))
	}
	period := m.Interval
	if m.RateInterval != 0 && prefix == " " {
		// Only a listing has the rate for the whole interval.
		period *= uint64(m.RateInterval)
	}
	expire := uint32(0)
	if period != 0 {
		expire = uint32(rateUnitOf(period, hashlimitScale) / hashlimitScale * 1000)
	}
	dst = appendRate(dst, period, hashlimitScale)
	return fmt.Appendf(dst, "%sburst %d", prefix, m.Burst), expire
}

func (m *Hashlimit) appendBytes(dst []byte, prefix string) ([]byte, uint32) {
	n := costToBytes(m.Interval)
	i := 0
	for i < len(byteUnits)-1 && (n < byteUnits[i].size || bytesToCost(n&uint64(-uint32(byteUnits[i].size))) != m.Interval) {
		i++
	}
	dst = fmt.Appendf(dst, "%d%sb/s", n/byteUnits[i].size, byteUnits[i].name)
	if m.Burst == 0 {
		return dst, hashlimitByteExpire * 1000
	}
	n *= m.Burst
	for i = 0; i < len(byteUnits)-1 && n < byteUnits[i].size; i++ {
	}
	return fmt.Appendf(dst, " %sburst %d%sb", prefix, n/byteUnits[i].size, byteUnits[i].name), hashlimitByteExpireBurst * 1000
}

// hashlimitCredits is what the kernel keeps of a time, with its clock of 250 ticks a second.
func hashlimitCredits(units uint64) uint64 {
	const perSecond = 250 << 39
	return units * (perSecond / hashlimitScale)
}

func (m *Hashlimit) Check(c *xtables.CheckContext) syscall.Errno {
	if errno := checkProcName(m.Table); errno != 0 {
		return errno
	}
	bits := uint8(xtables.FactsOf(c.Family).Bits)
	switch {
	case m.GCInterval == 0 || m.Expire == 0 || m.SrcMask > bits || m.DstMask > bits:
		return syscall.EINVAL
	case m.RateMatch:
		if m.Interval == 0 || m.Interval > math.MaxUint32 {
			return syscall.ERANGE
		}
	case m.Bytes:
		if m.Interval < 2 {
			// Too little for the kernel to count down from.
			return syscall.EINVAL
		}
	case m.Burst == 0 || hashlimitCredits(m.Interval*m.Burst) < hashlimitCredits(m.Interval):
		return syscall.ERANGE
	}
	return m.checkTable(c)
}

func (*Hashlimit) Tied() {}

// checkTable: rules that name the same table all have --hashlimit-rate-match, or none of them.
func (m *Hashlimit) checkTable(c *xtables.CheckContext) syscall.Errno {
	if m.RateMatch {
		c.RateMatches.Store(true)
	} else if !c.RateMatches.Load() {
		return 0
	}
	for r := range c.FamilyRules {
		for _, other := range r.Matches {
			if o, ok := other.(*Hashlimit); ok && o.Table == m.Table && o.RateMatch != m.RateMatch {
				return syscall.EINVAL
			}
		}
	}
	return 0
}

// checkProcName refuses what cannot name a file under /proc.
func checkProcName(name string) syscall.Errno {
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
		return syscall.EINVAL
	}
	return 0
}

const (
	hashlimitUpto = iota
	hashlimitAbove
	hashlimitBurst
	hashlimitExpire
	hashlimitRateMatch
)

var hashlimitExtension = &xtables.Extension{
	Name: "hashlimit",
	Options: []xtables.Option{
		{Name: "hashlimit-upto", Invert: true, Excludes: 1 << hashlimitAbove},
		{Name: "hashlimit-above", Invert: true, Excludes: 1 << hashlimitUpto},
		{Name: "hashlimit-burst"},
		{Name: "hashlimit-htable-expire"},
		{Name: "hashlimit-rate-match", Flag: true},
		{Name: "hashlimit-rate-interval"},
		{Name: "hashlimit-srcmask"}, {Name: "hashlimit-dstmask"},
		{Name: "hashlimit-htable-size"}, {Name: "hashlimit-htable-max"}, {Name: "hashlimit-htable-gcinterval"},
		{Name: "hashlimit-mode"}, {Name: "hashlimit-name", Mandatory: true},
		{Name: "hashlimit", AliasOf: "hashlimit-upto"},
	},
	NewMatch: func() xtables.MatchParser { return &hashlimitParser{} },
}

type hashlimitParser struct {
	m       Hashlimit
	seconds uint64 // of the unit of the rate
}

func (p *hashlimitParser) Begin(f netfilter.Family) {
	bits := uint8(xtables.FactsOf(f).Bits)
	p.m = Hashlimit{Burst: limitBurst, GCInterval: hashlimitGCInterval, SrcMask: bits, DstMask: bits}
}

// maxHashlimitName is the length of a table's name; the tool cuts the rest off.
const maxHashlimitName = 254

func (p *hashlimitParser) Option(o *xtables.OptionCall) (err error) {
	switch o.Name {
	case "hashlimit-upto":
		p.m.Above = o.Invert
		return p.rate(o)
	case "hashlimit-above":
		p.m.Above = !o.Invert
		return p.rate(o)
	case "hashlimit-burst":
		p.m.Burst, err = hashlimitBurstOf(o.Arg)
	case "hashlimit-mode":
		return p.key(o)
	case "hashlimit-name":
		if err := xtables.WantText(o); err != nil {
			return err
		}
		p.m.Table = string(o.Arg[:min(len(o.Arg), maxHashlimitName)])
	case "hashlimit-srcmask":
		p.m.SrcMask, err = o.PrefixLength(o.Arg)
	case "hashlimit-dstmask":
		p.m.DstMask, err = o.PrefixLength(o.Arg)
	case "hashlimit-rate-match":
		p.m.RateMatch = true
	case "hashlimit-rate-interval":
		n := libc.Atoi(o.Arg)
		if n <= 0 {
			return o.BadValue(o.Arg)
		}
		p.m.RateInterval = uint32(n)
	default:
		return p.tableNumber(o)
	}
	return err
}

// tableNumber reads an option about the table of the buckets.
func (p *hashlimitParser) tableNumber(o *xtables.OptionCall) error {
	n, err := o.Number(0, math.MaxUint32)
	switch o.Name {
	case "hashlimit-htable-size":
		p.m.Size = uint32(n)
	case "hashlimit-htable-max":
		p.m.Max = uint32(n)
	case "hashlimit-htable-gcinterval":
		p.m.GCInterval = uint32(n)
	case "hashlimit-htable-expire":
		p.m.Expire = uint32(n)
	}
	return err
}

// rate reads "N[/UNIT]", or a rate of bytes, "N[k|m]b/s".
func (p *hashlimitParser) rate(o *xtables.OptionCall) error {
	n := uint64(libc.Atoll(o.Arg))
	if at := bytes.Index(o.Arg, []byte("b/s")); at > 0 && n != 0 {
		cost := bytesToCost(n * byteFactor(o.Arg[at-1:]))
		if cost == 0 {
			return xtables.BadParameter("Rate too high \"%s\"", o.Arg)
		}
		p.m.Interval, p.m.Bytes, p.seconds = cost, true, hashlimitByteExpire
		return nil
	}
	period, seconds, ok, err := parseRate(o.Arg, n, hashlimitScale)
	if err == nil && !ok {
		return o.BadValue(o.Arg)
	}
	p.m.Interval, p.seconds = period, seconds
	return err
}

func hashlimitBurstOf(arg []byte) (uint64, error) {
	n, rest, ok := libc.CutNumber(arg)
	if !ok || n < 1 || len(rest) == 0 && n > maxHashlimitBurst {
		return 0, errHashlimitBurst()
	}
	return n * byteFactor(rest), nil
}

func errHashlimitBurst() error {
	return xtables.BadParameter("bad value for option \"--hashlimit-burst\", or out of range (1-%d).", maxHashlimitBurst)
}

func (p *hashlimitParser) key(o *xtables.OptionCall) error {
	for word := range bytes.FieldsFuncSeq(o.Arg, func(r rune) bool { return r == ',' || r == '|' }) {
		bit := hashlimitKeys.Bit(string(word))
		if bit == 0 {
			return o.BadValue(o.Arg)
		}
		p.m.Key |= HashlimitKey(bit)
	}
	return nil
}

func (p *hashlimitParser) Finish(seen uint32) (xtables.Match, error) {
	if seen&(1<<hashlimitUpto|1<<hashlimitAbove) == 0 {
		return nil, xtables.BadParameter("You have to specify --hashlimit")
	}
	given := func(id int) bool { return seen&(1<<id) != 0 }
	if !given(hashlimitExpire) {
		p.m.Expire = uint32(p.seconds * 1000)
	}
	if p.m.Bytes {
		if err := p.byteBurst(given(hashlimitBurst), given(hashlimitExpire)); err != nil {
			return nil, err
		}
	} else if p.m.Burst > maxHashlimitBurst {
		return nil, errHashlimitBurst()
	}
	if p.m.RateMatch {
		if !p.m.Bytes {
			p.m.Interval /= p.seconds
		}
		if p.m.RateInterval == 0 {
			p.m.RateInterval = 1
			if !p.m.Bytes {
				p.m.RateInterval = uint32(p.seconds)
			}
		}
	}
	m := p.m
	return &m, nil
}

// byteBurst makes seconds of the burst's bytes.
func (p *hashlimitParser) byteBurst(burstGiven, expireGiven bool) error {
	if !burstGiven {
		p.m.Burst = 0
		return nil
	}
	rate := costToBytes(p.m.Interval)
	if p.m.Burst < rate {
		return xtables.BadParameter("burst cannot be smaller than %sb", strconv.FormatUint(rate, 10))
	}
	if rate != 0 {
		p.m.Burst = uint64(uint32((p.m.Burst + rate - 1) / rate))
	}
	if !expireGiven {
		p.m.Expire = hashlimitByteExpireBurst * 1000
	}
	return nil
}
