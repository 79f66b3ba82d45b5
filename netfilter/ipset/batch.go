package ipset

// batch is the changes of restore on their way to the kernel.
type batch struct {
	*kernel
	sent    command // the command that was sent last
	pending pendingChanges
	// begun says that the beginning of a message stands in the buffer, of a command that lacked a name. The next command of the shell sends
	// it.
	begun bool
}

// pendingChanges are the adds or dels of restore that are noted and not yet sent: those of one set, one after the other, in one message.
// They are lost where the tool ends before.
type pendingChanges struct {
	changes []pendingChange
	adds    bool
	exist   bool   // as it was when the first was noted
	name    string // of the set
	size    int    // of the message, in bytes
}

// pendingChange is one change.
type pendingChange struct {
	message message
	line    int
}

// takes reports whether the command of the message is one more change of those that are noted.
func (b *batch) takes(c command) bool {
	return b.line != 0 && c.changes() && c == b.sent && b.message.name == b.pending.name && len(b.pending.changes) > 0
}

// aggregate notes a change. A message that is full goes to the kernel first.
func (b *batch) aggregate(c command) error {
	m := b.message
	p := &b.pending
	size, ok := 0, false
	if len(p.changes) > 0 {
		size, ok = m.fits(p.size)
		if !ok {
			if err := b.commit(); err != nil {
				return err
			}
		}
	}
	if !ok {
		begin := sizeHead + sizeAttribute + roundUp(len(m.name)+1, 4) + sizeNumber + sizeAttribute
		*p = pendingChanges{adds: c == cmdAdd, exist: b.exist, name: m.name}
		size, _ = m.fits(begin)
	}
	p.size = size
	p.changes = append(p.changes, pendingChange{m, b.line})
	b.message = message{}
	return nil
}

// commit sends the changes that are noted, or what was begun of a message that lacks a name.
func (b *batch) commit() error {
	if b.begun {
		b.begun = false
		return b.answer(errProtocol)
	}
	p := b.pending
	if len(p.changes) == 0 {
		return nil
	}
	b.pending = pendingChanges{}
	at, err := b.sendChanges(&p)
	if err != nil && !b.behind {
		b.line = p.changes[at].line
	}
	return b.answer(err)
}
