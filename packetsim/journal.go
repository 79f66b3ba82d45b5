package packetsim

import "github.com/chainwalk/chainwalk/fakeipt"

// journal lets a walk write the host's state as straight code and be undone afterwards. While a checkpoint is
// open, every change adds its inverse to undo, and counters wait in pending, since they are shared with the ruleset.
type journal struct {
	depth   int
	undo    []func()
	pending []pendingCount
}

// pendingCount is one packet for a rule's or chain's counters, or for an nfacct object.
type pendingCount struct {
	counters *fakeipt.Counters
	object   string // nfacct, if counters is nil
	bytes    uint64
}

// checkpoint is a state that a host can go back to.
type checkpoint struct{ undo, pending int }

// checkpoint opens a checkpoint. Each is closed by rollback or by keep, the last opened first.
func (h *Host) checkpoint() checkpoint {
	h.journal.depth++
	return checkpoint{len(h.journal.undo), len(h.journal.pending)}
}

// rollback undoes everything since the checkpoint.
func (h *Host) rollback(c checkpoint) {
	j := &h.journal
	for i := len(j.undo) - 1; i >= c.undo; i-- {
		j.undo[i]()
	}
	clear(j.undo[c.undo:])
	j.undo, j.pending = j.undo[:c.undo], j.pending[:c.pending]
	j.depth--
}

// keep closes the last checkpoint and lets its changes stand. The outermost one also advances the counters.
func (h *Host) keep() {
	j := &h.journal
	j.depth--
	if j.depth > 0 {
		return
	}
	for _, p := range j.pending {
		if p.counters != nil {
			p.counters.Add(1, p.bytes)
		} else {
			h.netfilter.NFAcct().Count(p.object, 1, p.bytes)
		}
	}
	clear(j.undo)
	j.undo, j.pending = j.undo[:0], j.pending[:0]
}

// onRollback notes how to undo a change that is being made.
func (h *Host) onRollback(undo func()) { h.journal.undo = append(h.journal.undo, undo) }
