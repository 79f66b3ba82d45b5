package iptables

import (
	"errors"
	"fmt"
)

// Rule is a rule of a chain.
type Rule struct {
	Table Table
	Chain Chain
	// Args are the rule after "-A CHAIN".
	Args []string
}

// EnsureRule implements Interface.
func (r *Runner) EnsureRule(position RulePosition, table Table, chain Chain, args ...string) (existed bool, err error) {
	if position != Prepend && position != Append {
		return false, fmt.Errorf("unknown rule position %q: Prepend and Append are known", position)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	exists, err := r.ruleExists(table, chain, args)
	if err != nil || exists {
		return exists, err
	}
	if _, failed := r.run(r.chainCommand(operation(position), table, chain, args...)); failed != nil {
		return false, fmt.Errorf("adding a rule to chain %s of table %s: %w", chain, table, failed)
	}
	return false, nil
}

// RuleExists implements Interface.
func (r *Runner) RuleExists(table Table, chain Chain, args ...string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	exists, err := r.ruleExists(table, chain, args)
	if errors.Is(err, errNotFound) {
		return false, nil // a rule cannot jump to a chain that is not there
	}
	return exists, err
}

// DeleteRule implements Interface.
func (r *Runner) DeleteRule(table Table, chain Chain, args ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	exists, err := r.ruleExists(table, chain, args)
	if errors.Is(err, errNotFound) {
		return nil // a rule cannot jump to a chain that is not there
	}
	if err != nil || !exists {
		return err
	}
	if _, failed := r.run(r.chainCommand(opDeleteRule, table, chain, args...)); failed != nil {
		return fmt.Errorf("deleting a rule of chain %s of table %s: %w", chain, table, failed)
	}
	return nil
}

// ruleExists asks with -C. Exit status 1 is "no", also if the chain is not there.
func (r *Runner) ruleExists(table Table, chain Chain, args []string) (bool, error) {
	_, failed := r.run(r.chainCommand(opCheckRule, table, chain, args...))
	switch {
	case failed == nil:
		return true, nil
	case failed.exitStatus == exitOther:
		return false, nil
	}
	return false, fmt.Errorf("looking for a rule in chain %s of table %s: %w", chain, table, failed)
}
