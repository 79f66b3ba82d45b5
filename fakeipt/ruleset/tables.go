package ruleset

import (
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
		if t.kind.Name == name {
			return t
		}
	}
	return nil
}

// New returns a ruleset of these tables.
func New(f netfilter.Family, d netfilter.Dialect, tables ...*Table) *Ruleset {
	return &Ruleset{family: f, dialect: d, tables: tables}
}

// Without returns the ruleset without the table of a kind.
func (rs *Ruleset) Without(kind *Kind) *Ruleset {
	n := New(rs.family, rs.dialect)
	for _, t := range rs.tables {
		if t.kind != kind {
			n.tables = append(n.tables, t)
		}
	}
	return n
}

// With returns the ruleset with a table added or replaced. Legacy tools print the
// table that was loaded last first; nft tools have an order of their own.
func (rs *Ruleset) With(t *Table) *Ruleset {
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
