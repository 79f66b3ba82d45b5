package fakeipt

import (
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Policy is what a built-in chain does with a packet that no rule decided.
type Policy uint8

// PolicyNone is the "policy" of a user-defined chain.
const (
	PolicyNone Policy = iota
	PolicyAccept
	PolicyDrop
)

// Verdict is the policy in netfilter's words; empty for PolicyNone.
func (p Policy) Verdict() netfilter.Verdict {
	return [...]netfilter.Verdict{PolicyNone: "", PolicyAccept: netfilter.Accept, PolicyDrop: netfilter.Drop}[p]
}

// Ruleset is every table of one family. A Ruleset is immutable; a commit makes a new one.
type Ruleset struct {
	family  netfilter.Family
	dialect netfilter.Dialect
	tables  []*Table // in save order
}

// Family is the ruleset's address family.
func (rs *Ruleset) Family() netfilter.Family { return rs.family }

// Dialect is the kind of tool that made the ruleset.
func (rs *Ruleset) Dialect() netfilter.Dialect { return rs.dialect }

// Tables are the tables that are loaded, in the order of iptables-save.
func (rs *Ruleset) Tables() []*Table { return rs.tables }

// Table returns the table of that name, nil if it is not loaded.
func (rs *Ruleset) Table(name string) *Table {
	for _, t := range rs.tables {
		if t.kind.name == name {
			return t
		}
	}
	return nil
}

// with returns the ruleset with a table added or replaced. Legacy tools print the
// table that was loaded last first; nft tools have an order of their own.
func (rs *Ruleset) with(t *Table) *Ruleset {
	n := &Ruleset{family: rs.family, dialect: rs.dialect, tables: make([]*Table, 0, len(rs.tables)+1)}
	place := -1
	for i, old := range rs.tables {
		if old.kind == t.kind {
			place = i
		}
	}
	if place >= 0 {
		n.tables = append(n.tables, rs.tables...)
		n.tables[place] = t
		return n
	}
	if rs.dialect == netfilter.Legacy {
		n.tables = append(append(n.tables, t), rs.tables...)
		return n
	}
	n.tables = append(append(n.tables, rs.tables...), t)
	slices.SortFunc(n.tables, func(a, b *Table) int { return a.kind.nftRank - b.kind.nftRank })
	return n
}

// Rule is one rule of a chain. A Rule is immutable but for its Counters, and is shared
// by every ruleset that holds it. The fields outside Matches and Target are
// those of the kernel's struct ipt_ip and ip6t_ip6.
type Rule struct {
	Src, Dst *AddrMatch  // nil: any
	In, Out  *IfaceMatch // nil: any
	Proto    ProtoMatch
	Fragment FragmentMatch
	opaque   bool    // an extension is not known
	Matches  []Match // in the order given, which is the order of evaluation
	Target   Target  // nil: count and go on
	Counters *netfilter.Counters
}

// AddrMatch is -s or -d: an address under a mask, which need not be a prefix.
type AddrMatch struct {
	Addr, Mask netip.Addr // Addr is masked, but for those of -m conntrack
	Invert     bool
}

// IfaceMatch is -i or -o. Prefix stands for a trailing "+".
type IfaceMatch struct {
	Name   string // without the "+"
	Prefix bool
	Invert bool
}

// ProtoMatch is -p. Number 0 is any protocol; one beyond 255, which the legacy tools take (mptcp), is none that a packet has.
type ProtoMatch struct {
	Number uint16
	Invert bool
	// All says that all protocols were asked for by name: the legacy tools of IPv6 take the rule for another one then.
	All bool
}

// FragmentMatch is -f (IPv4 only).
type FragmentMatch uint8

// FragmentAny matches every packet.
const (
	FragmentAny FragmentMatch = iota
	FragmentOnly
	FragmentNot
)

// Match is one "-m NAME ..." of a rule; the concrete types are in match_*.go, one file for
// each extension: the data is public, since packetsim evaluates it.
type Match interface {
	// Name is the extension's name as -m spells it.
	Name() string
	// appendSave appends the options behind "-m NAME" as iptables-save prints them.
	appendSave(dst []byte, family netfilter.Family, dialect netfilter.Dialect) []byte
	// appendList appends what a listing says about the match.
	appendList(dst []byte, style listStyle) []byte
}

// Target is what a rule does with the packet it matches; the concrete types are in target_*.go.
type Target interface {
	// Name is the target's name as -j spells it.
	Name() string
	// appendSave appends the options behind "-j NAME" as iptables-save prints them.
	appendSave(dst []byte, family netfilter.Family, dialect netfilter.Dialect) []byte
	// appendList appends what a listing says about the target.
	appendList(dst []byte, style listStyle) []byte
}
