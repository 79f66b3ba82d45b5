package goiptables

import (
	"fmt"
	"slices"
	"strconv"
)

// with is a command on a chain, with the words behind it.
func with(rulespec []string, command ...string) []string { return slices.Concat(command, rulespec) }

// Exists says whether a chain has a rule. It says no of a chain that is not there.
func (i *IPTables) Exists(table, chain string, rulespec ...string) (bool, error) {
	not, err := notThere(i.run(table, with(rulespec, "-C", chain)...))
	return !not && err == nil, err
}

// Insert inserts a rule at a place, counted from 1.
func (i *IPTables) Insert(table, chain string, pos int, rulespec ...string) error {
	return i.run(table, with(rulespec, "-I", chain, strconv.Itoa(pos))...)
}

// Replace puts a rule in the place of another one.
func (i *IPTables) Replace(table, chain string, pos int, rulespec ...string) error {
	return i.run(table, with(rulespec, "-R", chain, strconv.Itoa(pos))...)
}

// InsertUnique is Insert, unless the chain has the rule anywhere.
func (i *IPTables) InsertUnique(table, chain string, pos int, rulespec ...string) error {
	return i.unlessThere(func() error { return i.Insert(table, chain, pos, rulespec...) }, table, chain, rulespec)
}

// Append appends a rule.
func (i *IPTables) Append(table, chain string, rulespec ...string) error {
	return i.run(table, with(rulespec, "-A", chain)...)
}

// AppendUnique is Append, unless the chain has the rule anywhere.
func (i *IPTables) AppendUnique(table, chain string, rulespec ...string) error {
	return i.unlessThere(func() error { return i.Append(table, chain, rulespec...) }, table, chain, rulespec)
}

func (i *IPTables) unlessThere(add func() error, table, chain string, rulespec []string) error {
	if there, err := i.Exists(table, chain, rulespec...); err != nil || there {
		return err
	}
	return add()
}

// Delete deletes a rule; an Error with IsNotExist if the chain does not have it.
func (i *IPTables) Delete(table, chain string, rulespec ...string) error {
	return i.run(table, with(rulespec, "-D", chain)...)
}

// DeleteIfExists is Delete, and no error if the rule or the chain is not there.
func (i *IPTables) DeleteIfExists(table, chain string, rulespec ...string) error {
	if there, err := i.Exists(table, chain, rulespec...); err != nil || !there {
		return err
	}
	return i.Delete(table, chain, rulespec...)
}

// DeleteById deletes the rule at a place, counted from 1.
func (i *IPTables) DeleteById(table, chain string, id int) error {
	return i.run(table, "-D", chain, strconv.Itoa(id))
}

// ListById is the rule at a place, counted from 1, as iptables -S prints it. An error says that there is none.
func (i *IPTables) ListById(table, chain string, id int) (string, error) {
	rules, err := i.lines(table, "-S", chain, strconv.Itoa(id))
	if err == nil && len(rules) == 0 {
		err = fmt.Errorf("table %s, chain %s: there is no rule %d", table, chain, id)
	}
	if err != nil {
		return "", err
	}
	return rules[0], nil
}

// List is a chain as iptables -S prints it: its policy or name first, then its rules.
func (i *IPTables) List(table, chain string) ([]string, error) { return i.lines(table, "-S", chain) }

// ListWithCounters is List with the counters at the end of each line: -c PACKETS BYTES.
func (i *IPTables) ListWithCounters(table, chain string) ([]string, error) {
	return i.lines(table, "-v", "-S", chain)
}
