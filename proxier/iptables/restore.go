package iptables

import (
	"bytes"
	"fmt"
)

// SaveInto implements Interface.
func (r *Runner) SaveInto(table Table, buffer *bytes.Buffer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, failed := r.run(r.saveCommand(table, buffer)); failed != nil {
		return fmt.Errorf("saving table %s: %w", table, failed)
	}
	return nil
}

// Restore implements Interface.
func (r *Runner) Restore(table Table, data []byte, flush FlushFlag, counters RestoreCountersFlag) error {
	if table == "" {
		return fmt.Errorf("restoring a table: it has no name: name it, or use RestoreAll for all tables")
	}
	if err := r.restore(r.restoreCommand(table, data, flush, counters)); err != nil {
		return fmt.Errorf("restoring table %s: %w", table, err)
	}
	return nil
}

// RestoreAll implements Interface.
func (r *Runner) RestoreAll(data []byte, flush FlushFlag, counters RestoreCountersFlag) error {
	if err := r.restore(r.restoreCommand("", data, flush, counters)); err != nil {
		return fmt.Errorf("restoring: %w", err)
	}
	return nil
}

// restore runs the command, under the locks of the tools if they do not take them themselves.
func (r *Runner) restore(c command) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.version.atLeast(hasRestoreWait) {
		unlock, err := r.locks.take(r.clock)
		if err != nil {
			return fmt.Errorf("%s %s takes no lock by itself: %w", r.tools.Restore, r.version, err)
		}
		defer unlock()
	}
	if _, failed := r.run(c); failed != nil {
		return newRestoreError(failed, c.stdin)
	}
	return nil
}
