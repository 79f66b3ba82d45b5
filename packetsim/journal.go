package packetsim

// journal lets a walk write connections as straight code and be undone afterwards: while a checkpoint is open, every change adds its
// inverse to undo, and saved holds the states that the connections had. Both lists are used again. What else packets leave behind is in
// memory and in the tally, which have checkpoints of their own that the host opens and closes with the journal's.
type journal struct {
	undo   []undoStep
	saved  []connState
	begins int // undo's length when the last checkpoint was opened or closed
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

// mark is a state of the connections that rollback goes back to.
type mark struct{ undo, scratch int }

// checkpoint opens a checkpoint.
func (h *tracker) checkpoint() mark {
	h.journal.begins = len(h.journal.undo)
	return mark{len(h.journal.undo), h.scratch.used}
}

// keep closes the last checkpoint and lets its changes stand. The outermost one begins the journal anew.
func (h *tracker) keep(outermost bool) {
	h.journal.begins = len(h.journal.undo)
	if outermost {
		h.journal.reset()
	}
}

// probe says that the next checkpoint will be undone.
func (h *tracker) probe() { h.scratch.probes++ }

// endProbe undoes what changed since probe, whose connections nothing refers to any more.
func (h *tracker) endProbe(to mark) {
	h.scratch.used = to.scratch
	h.scratch.probes--
}

// reset begins the journal anew, when the outermost checkpoint is kept.
func (j *journal) reset() {
	clear(j.undo)
	j.undo, j.saved, j.begins = j.undo[:0], j.saved[:0], 0
}

// rollback undoes everything since the checkpoint.
func (h *tracker) rollback(to mark) {
	j := &h.journal
	for i := len(j.undo) - 1; i >= to.undo; i-- {
		h.undoConn(&j.undo[i])
	}
	clear(j.undo[to.undo:])
	j.undo = j.undo[:to.undo]
	j.begins = len(j.undo)
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
