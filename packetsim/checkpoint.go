package packetsim

// Checkpoint is a state of a host that the host can go back to, with all that walks have changed since: connections, what matches
// remember, counters. It is ended once, by Keep or by Undo. Of several that are open, the one opened last is ended first.
type Checkpoint struct {
	host  *Host
	state checkpoint
}

// Checkpoint opens a checkpoint. Counters, which the ruleset shares with others, advance when the outermost one is kept.
func (h *Host) Checkpoint() Checkpoint {
	h.lock.Lock()
	defer h.lock.Unlock()
	return Checkpoint{h, h.checkpoint()}
}

// Keep ends the checkpoint and lets what changed stand.
func (c Checkpoint) Keep() {
	c.host.lock.Lock()
	defer c.host.lock.Unlock()
	c.host.keep()
}

// Undo ends the checkpoint and undoes what changed.
func (c Checkpoint) Undo() {
	c.host.lock.Lock()
	defer c.host.lock.Unlock()
	c.host.rollback(c.state)
}
