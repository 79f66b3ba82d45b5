package netfilter

import "iter"

// Rule is a rule as a value: its text for people, and what it means for programs.
type Rule struct {
	// Text is the rule as the tool of its language saves it: "-A CHAIN ..." of iptables.
	Text string
	Fact Fact
}

// MarshalText gives the text: in files a rule is its text.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.Text), nil }

// RulesetView is what a kernel holds of one family for one dialect, as it was when somebody asked. Its rules are spelled and read when they
// are looked at.
type RulesetView struct {
	Family  Family
	Dialect Dialect
	Tables  []Table // in the order in which they are saved
}

// Table returns the table of that name; nil if it is not there.
func (rs *RulesetView) Table(name string) Table {
	for _, t := range rs.Tables {
		if t.Name() == name {
			return t
		}
	}
	return nil
}

// Table is a table of a ruleset. Tables are equal (==) if they are one and nothing of them has changed in between.
type Table interface {
	Name() string
	// Chain returns the chain of that name; false if there is none.
	Chain(name string) (Chain, bool)
	// Chains are the table's chains in the order in which they are saved.
	Chains() iter.Seq[Chain]
	// Unsorted are the same in no order, which takes less time.
	Unsorted() iter.Seq[Chain]
	// References is the number of rules of the table that lead to a chain.
	References(chain string) int
	// PolicyCounted is what the policy of a chain has counted so far; zero for a chain without one.
	PolicyCounted(chain string) Counted
}

// Chain is a chain of a table. Chains are equal (==) if they are one and nothing of them has changed in between.
type Chain struct {
	Name string
	// Hook leads to the chain; empty for a chain that only rules lead to.
	Hook string
	// Policy is what becomes of packets at the end of a chain that a hook leads to; else empty.
	Policy Verdict
	Rules
}

// All are the chain's rules in their order, from 0.
func (c *Chain) All() iter.Seq2[int, Rule] {
	return func(yield func(int, Rule) bool) {
		for i := range c.Len() {
			if !yield(i, Rule{Text: c.Text(i), Fact: c.Fact(i)}) {
				return
			}
		}
	}
}

// Facts are what the chain's rules mean, in their order. It spells no rule.
func (c *Chain) Facts() iter.Seq2[int, Fact] {
	return func(yield func(int, Fact) bool) {
		for i := range c.Len() {
			if !yield(i, c.Fact(i)) {
				return
			}
		}
	}
}

// Rules are a list of rules in the language that they are written in, from 0.
type Rules interface {
	Len() int
	// Text is a rule's text and Fact what it means: together they are a Rule.
	Text(i int) string
	Fact(i int) Fact
	// Args are a rule as arguments of a command, without the chain, and with or without its comments.
	Args(i int, comments bool) []string
	// Counted is what a rule has counted so far.
	Counted(i int) Counted
	// Handle is a rule's identity, which can be compared: rules of two rulesets with one handle are one rule.
	Handle(i int) any
}

// Counted is how many packets a rule has met, and how many bytes they had in all.
type Counted struct{ Packets, Bytes uint64 }
