package match

import (
	"fmt"
	"math"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TTLComparison is how -m ttl and -m hl compare.
type TTLComparison uint8

// The comparisons of the packet's number with the one of the rule.
const (
	TTLEqual TTLComparison = iota
	TTLNotEqual
	TTLLess
	TTLGreater
)

// TTL is -m ttl, and with V6 set -m hl: how many routers the packet may still pass.
type TTL struct {
	V6         bool
	Comparison TTLComparison
	Value      uint8
}

// Name is "ttl" or "hl".
func (m *TTL) Name() string {
	if m.V6 {
		return "hl"
	}
	return "ttl"
}

func (m *TTL) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = xtables.AppendOption(dst, "--", m.Comparison == TTLNotEqual)
	return fmt.Appendf(dst, "%s-%s %d", m.Name(), [...]string{"eq", "eq", "lt", "gt"}[m.Comparison], m.Value)
}

func (m *TTL) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	name := strings.ToUpper(m.Name())
	return fmt.Appendf(dst, " %s match %s %s %d", name, name, [...]string{"==", "!=", "<", ">"}[m.Comparison], m.Value)
}

var (
	ttlExtension = &xtables.Extension{Name: "ttl", OnlyIn: netfilter.IPv4, NewMatch: newTTLMatch, Options: []xtables.Option{
		{Name: "ttl-lt", Rank: 1, Excludes: 6}, {Name: "ttl-gt", Rank: 2, Excludes: 5}, {Name: "ttl-eq", Invert: true, Excludes: 3},
		{Name: "ttl", AliasOf: "ttl-eq"},
	}}
	hlExtension = &xtables.Extension{Name: "hl", OnlyIn: netfilter.IPv6, NewMatch: newTTLMatch, Options: []xtables.Option{
		{Name: "hl-lt", Rank: 1, Excludes: 6}, {Name: "hl-gt", Rank: 2, Excludes: 5}, {Name: "hl-eq", Invert: true, Excludes: 3},
		{Name: "hl", AliasOf: "hl-eq"},
	}}
)

var newTTLMatch = xtables.MatchOf(xtables.ValueParser[TTL]{
	Start: func(f netfilter.Family) TTL { return TTL{V6: f == netfilter.IPv6} },
	Read:  (*TTL).read,
	Whole: (*TTL).whole,
})

func (m *TTL) read(o *xtables.OptionCall) error {
	n, err := o.Number(0, math.MaxUint8)
	m.Value = uint8(n)
	_, kind, _ := strings.Cut(o.Name, "-")
	switch {
	case kind == "lt":
		m.Comparison = TTLLess
	case kind == "gt":
		m.Comparison = TTLGreater
	case o.Invert:
		m.Comparison = TTLNotEqual
	default:
		m.Comparison = TTLEqual
	}
	return err
}

func (m *TTL) whole(seen uint32) error {
	switch {
	case seen != 0:
		return nil
	case m.V6:
		return xtables.BadParameter("HL match: You must specify one of `--hl-eq', `--hl-lt', `--hl-gt'")
	}
	return xtables.BadParameter("TTL match: You must specify one of `--ttl-eq', `--ttl-lt', `--ttl-gt")
}
