package fakeipt

import (
	"fmt"
	"math"
	"strings"

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

// MatchTTL is -m ttl, and with V6 set -m hl: how many routers the packet may still pass.
type MatchTTL struct {
	V6         bool
	Comparison TTLComparison
	Value      uint8
}

// Name is "ttl" or "hl".
func (m *MatchTTL) Name() string {
	if m.V6 {
		return "hl"
	}
	return "ttl"
}

func (m *MatchTTL) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = appendOption(dst, "--", m.Comparison == TTLNotEqual)
	return fmt.Appendf(dst, "%s-%s %d", m.Name(), [...]string{"eq", "eq", "lt", "gt"}[m.Comparison], m.Value)
}

func (m *MatchTTL) appendList(dst []byte, _ listStyle) []byte {
	name := strings.ToUpper(m.Name())
	return fmt.Appendf(dst, " %s match %s %s %d", name, name, [...]string{"==", "!=", "<", ">"}[m.Comparison], m.Value)
}

var (
	ttlExtension = &extension{name: "ttl", onlyIn: netfilter.IPv4, newMatch: newTTLMatch, options: []optionSpec{
		{name: "ttl-lt", rank: 1, excludes: 6}, {name: "ttl-gt", rank: 2, excludes: 5}, {name: "ttl-eq", invert: true, excludes: 3},
		{name: "ttl", aliasOf: "ttl-eq"},
	}}
	hlExtension = &extension{name: "hl", onlyIn: netfilter.IPv6, newMatch: newTTLMatch, options: []optionSpec{
		{name: "hl-lt", rank: 1, excludes: 6}, {name: "hl-gt", rank: 2, excludes: 5}, {name: "hl-eq", invert: true, excludes: 3},
		{name: "hl", aliasOf: "hl-eq"},
	}}
)

var newTTLMatch = matchOf(valueParser[MatchTTL]{
	start: func(f netfilter.Family) MatchTTL { return MatchTTL{V6: f == netfilter.IPv6} },
	read:  (*MatchTTL).read,
	whole: (*MatchTTL).whole,
})

func (m *MatchTTL) read(o *optionCall) error {
	n, err := o.number(0, math.MaxUint8)
	m.Value = uint8(n)
	_, kind, _ := strings.Cut(o.name, "-")
	switch {
	case kind == "lt":
		m.Comparison = TTLLess
	case kind == "gt":
		m.Comparison = TTLGreater
	case o.invert:
		m.Comparison = TTLNotEqual
	default:
		m.Comparison = TTLEqual
	}
	return err
}

func (m *MatchTTL) whole(seen uint32) error {
	switch {
	case seen != 0:
		return nil
	case m.V6:
		return badParameter("HL match: You must specify one of `--hl-eq', `--hl-lt', `--hl-gt'")
	}
	return badParameter("TTL match: You must specify one of `--ttl-eq', `--ttl-lt', `--ttl-gt")
}
