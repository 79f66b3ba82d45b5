package packetsim

import "github.com/chainwalk/chainwalk/packetsim/conntrack"

// Checkpoint is a state of a host that the host can go back to, with all that walks have changed since: connections, what matches
// remember, counters. It is ended once, by Keep or by Undo. Of several that are open, the one opened last is ended first.
type Checkpoint struct {
	host  *Host
	state checkpoint
	probe bool
}

// Checkpoint opens a checkpoint. Counters, which the ruleset shares with others, advance when the outermost one is kept.
func (h *Host) Checkpoint() Checkpoint {
	h.lock.Lock()
	defer h.lock.Unlock()
	return Checkpoint{host: h, state: h.checkpoint()}
}

// Probe opens a checkpoint that can only be undone: what walks under it count is forgotten at once, and their connections take no memory
// that others have not had before.
func (h *Host) Probe() Checkpoint {
	h.lock.Lock()
	defer h.lock.Unlock()
	return Checkpoint{host: h, state: h.probe(), probe: true}
}

// Keep ends the checkpoint and lets what changed stand.
func (c Checkpoint) Keep() {
	if c.probe {
		panic("packetsim: a probe is kept")
	}
	c.host.lock.Lock()
	defer c.host.lock.Unlock()
	c.host.keep()
}

// Undo ends the checkpoint and undoes what changed.
func (c Checkpoint) Undo() {
	c.host.lock.Lock()
	defer c.host.lock.Unlock()
	if c.probe {
		c.host.endProbe(c.state)
		return
	}
	c.host.rollback(c.state)
}

// checkpoint is a state that a host can go back to.
type checkpoint struct {
	conns   conntrack.Checkpoint
	pending int
}

// checkpoint opens a checkpoint. Each is closed by rollback or by keep, the last opened first.
func (h *Host) checkpoint() checkpoint {
	h.memory.checkpoint()
	return checkpoint{h.conns.Checkpoint(), len(h.tally.pending)}
}

// rollback undoes everything since the checkpoint.
func (h *Host) rollback(c checkpoint) {
	h.conns.Rollback(c.conns)
	h.tally.pending = h.tally.pending[:c.pending]
	h.memory.rollback()
}

// keep closes the last checkpoint and lets its changes stand. The outermost one also advances the counters.
func (h *Host) keep() {
	h.memory.keep()
	outermost := h.memory.depth == 0
	if h.conns.Keep(outermost); outermost {
		h.tally.keep()
	}
}

// probe opens a checkpoint that endProbe will undo.
func (h *Host) probe() checkpoint {
	h.tally.probes++
	h.conns.Probe()
	return h.checkpoint()
}

// endProbe undoes what changed since probe.
func (h *Host) endProbe(c checkpoint) {
	h.rollback(c)
	h.conns.EndProbe(c.conns)
	h.tally.probes--
}
