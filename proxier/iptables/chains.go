package iptables

import "fmt"

// EnsureChain implements Interface.
func (r *Runner) EnsureChain(table Table, chain Chain) (existed bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, failed := r.run(r.chainCommand(opCreateChain, table, chain))
	switch {
	case failed == nil:
		return false, nil
	case failed.exitStatus > 0 && containsAny(failed.output, "already exists", "File exists"):
		return true, nil
	}
	return false, fmt.Errorf("making chain %s of table %s: %w", chain, table, failed)
}

// FlushChain implements Interface.
func (r *Runner) FlushChain(table Table, chain Chain) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, failed := r.run(r.chainCommand(opFlushChain, table, chain)); failed != nil {
		return fmt.Errorf("flushing chain %s of table %s: %w", chain, table, failed)
	}
	return nil
}

// DeleteChain implements Interface.
func (r *Runner) DeleteChain(table Table, chain Chain) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, failed := r.run(r.chainCommand(opDeleteChain, table, chain)); failed != nil {
		return fmt.Errorf("deleting chain %s of table %s: %w", chain, table, failed)
	}
	return nil
}

// ChainExists implements Interface. Exit status 1 is "no" whatever the words: for a chain that is not there, some versions
// of the nf_tables tools say that it is incompatible.
func (r *Runner) ChainExists(table Table, chain Chain) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, failed := r.run(r.chainCommand(opListChain, table, chain))
	switch {
	case failed == nil:
		return true, nil
	case failed.exitStatus == exitOther:
		return false, nil
	}
	return false, fmt.Errorf("looking for chain %s of table %s: %w", chain, table, failed)
}
