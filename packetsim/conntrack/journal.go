package conntrack

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
	conn *Conn
	kind undoKind
}

// undoKind is what changed of a connection.
type undoKind uint8

const (
	undoState   undoKind = iota // its state: the last of the saved ones comes back
	undoEntry                   // it was confirmed
	undoRemoval                 // it was taken out of the table
)

// Checkpoint is a state of the connections that rollback goes back to.
type Checkpoint struct{ undo, scratch int }

// Checkpoint opens a checkpoint.
func (k *Tracker) Checkpoint() Checkpoint {
	k.journal.begins = len(k.journal.undo)
	return Checkpoint{len(k.journal.undo), k.scratch.used}
}

// Keep closes the last checkpoint and lets its changes stand. The outermost one begins the journal anew.
func (k *Tracker) Keep(outermost bool) {
	k.journal.begins = len(k.journal.undo)
	if outermost {
		k.journal.reset()
	}
}

// Probe says that the next checkpoint will be undone.
func (k *Tracker) Probe() { k.scratch.probes++ }

// EndProbe undoes what changed since probe, whose connections nothing refers to any more.
func (k *Tracker) EndProbe(to Checkpoint) {
	k.scratch.used = to.scratch
	k.scratch.probes--
}

// reset begins the journal anew, when the outermost checkpoint is kept.
func (j *journal) reset() {
	clear(j.undo)
	j.undo, j.saved, j.begins = j.undo[:0], j.saved[:0], 0
}

// Rollback undoes everything since the checkpoint.
func (k *Tracker) Rollback(to Checkpoint) {
	j := &k.journal
	for i := len(j.undo) - 1; i >= to.undo; i-- {
		k.undoConn(&j.undo[i])
	}
	clear(j.undo[to.undo:])
	j.undo = j.undo[:to.undo]
	j.begins = len(j.undo)
}

// undoConn undoes a change of a connection.
func (k *Tracker) undoConn(step *undoStep) {
	j, c := &k.journal, step.conn
	switch step.kind {
	case undoState:
		last := len(j.saved) - 1
		c.connState = j.saved[last]
		j.saved = j.saved[:last]
	case undoEntry:
		c.Confirmed = false
		k.tracked.unlink(c)
	case undoRemoval:
		k.tracked.link(c)
	}
}

// saveConn notes a connection's state, unless it was the last thing noted since the checkpoint.
func (j *journal) saveConn(c *Conn) {
	if n := len(j.undo); n > j.begins && j.undo[n-1].conn == c && j.undo[n-1].kind == undoState {
		return
	}
	j.noteConn(c, undoState)
	j.saved = append(j.saved, c.connState)
}

// noteConn notes what changes of a connection.
func (j *journal) noteConn(c *Conn, kind undoKind) {
	j.undo = append(j.undo, undoStep{conn: c, kind: kind})
}
