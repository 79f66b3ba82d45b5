package packetsim

import "github.com/chainwalk/chainwalk/netfilter"

// journal lets a walk write the host's state as straight code and be undone afterwards. While a checkpoint is
// open, every change adds its inverse to undo, and counters wait in pending, since they are shared with the ruleset.
//
// What is undone are connections: saved holds the states that they had. All lists are used again. What else
// packets leave behind is in memory, which has checkpoints of its own that the journal's open and close.
type journal struct {
	undo    []undoStep
	saved   []connState
	begins  int // undo's length when the last checkpoint was opened or closed
	pending []pendingCount
}

// undoStep undoes a change of a connection.
type undoStep struct {
	conn *conn
	kind undoKind
}

// undoKind is what changed of a connection.
type undoKind uint8

const (
	undoState   undoKind = iota // its state: the last of the saved ones comes back
	undoEntry                   // it was confirmed
	undoRemoval                 // it was taken out of the table
)

// pendingCount is one packet for a rule's or chain's counters, or for an nfacct object.
type pendingCount struct {
	counters *netfilter.Counters
	object   string // nfacct, if counters is nil
	bytes    uint64
}

// checkpoint is a state that a host can go back to.
type checkpoint struct{ undo, pending, scratch int }

// checkpoint opens a checkpoint. Each is closed by rollback or by keep, the last opened first.
func (h *Host) checkpoint() checkpoint {
	j := &h.journal
	h.memory.checkpoint()
	j.begins = len(j.undo)
	return checkpoint{len(j.undo), len(j.pending), h.scratch.used}
}

// rollback undoes everything since the checkpoint.
func (h *Host) rollback(c checkpoint) {
	j := &h.journal
	for i := len(j.undo) - 1; i >= c.undo; i-- {
		h.undoConn(&j.undo[i])
	}
	clear(j.undo[c.undo:])
	j.undo, j.pending = j.undo[:c.undo], j.pending[:c.pending]
	j.begins = len(j.undo)
	h.memory.rollback()
}

// undoConn undoes a change of a connection.
func (h *tracker) undoConn(step *undoStep) {
	j, c := &h.journal, step.conn
	switch step.kind {
	case undoState:
		last := len(j.saved) - 1
		c.connState = j.saved[last]
		j.saved = j.saved[:last]
	case undoEntry:
		c.confirmed = false
		h.tracked.unlink(c)
	case undoRemoval:
		h.tracked.link(c)
	}
}

// keep closes the last checkpoint and lets its changes stand. The outermost one also advances the counters.
func (h *Host) keep() {
	j := &h.journal
	j.begins = len(j.undo)
	if h.memory.keep(); h.memory.depth > 0 {
		return
	}
	for _, p := range j.pending {
		switch {
		case p.counters != nil:
			p.counters.Add(1, p.bytes)
		default:
			h.netfilter.Accounts().Count(p.object, 1, p.bytes)
		}
	}
	clear(j.undo)
	j.undo, j.saved, j.pending, j.begins = j.undo[:0], j.saved[:0], j.pending[:0], 0
}

// saveConn notes a connection's state, unless it was the last thing noted since the checkpoint.
func (j *journal) saveConn(c *conn) {
	if n := len(j.undo); n > j.begins && j.undo[n-1].conn == c && j.undo[n-1].kind == undoState {
		return
	}
	j.noteConn(c, undoState)
	j.saved = append(j.saved, c.connState)
}

// noteConn notes what changes of a connection.
func (j *journal) noteConn(c *conn, kind undoKind) {
	j.undo = append(j.undo, undoStep{conn: c, kind: kind})
}
