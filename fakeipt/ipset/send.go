package ipset

import (
	"errors"
)

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

// send carries the command out that the message says (ipset_cmd).
func (r *run) send(c command) error {
	changes := c == cmdAdd || c == cmdDel
	aggregates := r.line != 0 && changes && c == r.sent && r.message.name == r.pending.name && len(r.pending.changes) > 0
	if !aggregates {
		if err := r.commit(); err != nil {
			return err
		}
	}
	r.sent = c
	if err := r.complete(c); err != nil {
		return err
	}
	if changes && r.line != 0 {
		return r.aggregate(c)
	}
	defer func() { r.message = message{} }()
	return r.perform(c)
}

// complete says what is missing in a message that an error has emptied.
func (r *run) complete(c command) error {
	m := &r.message
	switch {
	case c == cmdRename || c == cmdSwap:
		if !m.has(optName) {
			return r.fail("Invalid %s command: missing from-setname", c.word())
		}
	case c == cmdCreate || c == cmdAdd || c == cmdDel || c == cmdTest:
		if !m.has(optName) {
			return r.fail("Invalid %s command: missing setname", c.word())
		}
	}
	return nil
}

// aggregate notes a change. A message that is full goes to the kernel first.
func (r *run) aggregate(c command) error {
	m := r.message
	p := &r.pending
	size, ok := 0, false
	if len(p.changes) > 0 {
		size, ok = m.fits(p.size)
		if !ok {
			if err := r.commit(); err != nil {
				return err
			}
		}
	}
	if !ok {
		begin := sizeHead + sizeAttribute + roundUp(len(m.name)+1, 4) + sizeNumber + sizeAttribute
		*p = pendingChanges{adds: c == cmdAdd, exist: r.exist, name: m.name}
		size, _ = m.fits(begin)
	}
	p.size = size
	p.changes = append(p.changes, pendingChange{m, r.line})
	r.message = message{}
	return nil
}

// commit sends the changes that are noted.
func (r *run) commit() error {
	p := r.pending
	if len(p.changes) == 0 {
		return nil
	}
	r.pending = pendingChanges{}
	s := r.Sets.find(p.name)
	for i := range p.changes {
		c := &p.changes[i]
		err := error(errMissing)
		if s != nil {
			err = r.Sets.change(s, p.adds, &c.message, p.exist)
		}
		if err != nil {
			r.line = c.line
			return r.refused(err)
		}
	}
	return nil
}

// perform asks the kernel for what the message says.
func (r *run) perform(c command) error {
	m := r.message
	switch c {
	case cmdCreate:
		if err := r.Sets.create(&m, r.exist); err != nil {
			return r.refused(err)
		}
		r.known.add(knownSet{m.name, m.kind, m.family})
		return nil
	case cmdDestroy:
		return r.destroy(&m)
	case cmdRename, cmdSwap:
		return r.exchange(c, &m)
	case cmdList, cmdSave:
		return r.list(c, &m)
	case cmdFlush:
		return r.flush(&m)
	}
	s := r.Sets.find(m.name)
	switch {
	case s == nil:
		return r.refused(errMissing)
	case c == cmdTest:
		return r.test(s, &m)
	}
	if err := r.Sets.change(s, c == cmdAdd, &m, r.exist); err != nil {
		return r.refused(err)
	}
	return nil
}

func (r *run) test(s *set, m *message) error {
	found := r.Sets.holds(s, m)
	if r.quiet {
		if found {
			return nil
		}
		return r.fail("Internal protocol error")
	}
	text := string(m.appendElement(nil))
	if found {
		r.report.text = text
		r.note(sevWarning, " is in set %s.", m.name)
		return nil
	}
	r.report.text = text
	r.note(sevNotice, " is NOT in set %s.", m.name)
	return errReported
}

func (r *run) destroy(m *message) error {
	references := r.references()
	if !m.has(optName) {
		names := r.Sets.names()
		for _, name := range names {
			if references[name] > 0 {
				return r.refused(errBusy)
			}
		}
		for _, name := range names {
			r.Sets.destroy(name)
		}
		r.known.remove("", true)
		return nil
	}
	switch {
	case !r.Sets.Has(m.name) && !r.exist:
		return r.refused(errMissing)
	case references[m.name] > 0:
		return r.refused(errBusy)
	}
	r.Sets.destroy(m.name)
	r.known.remove(m.name, false)
	return nil
}

func (r *run) flush(m *message) error {
	names := r.Sets.names()
	if m.has(optName) {
		names = []string{m.name}
	}
	for _, name := range names {
		s := r.Sets.find(name)
		if s == nil {
			return r.refused(errMissing)
		}
		r.Sets.flush(s)
	}
	return nil
}

// exchange is rename and swap.
func (r *run) exchange(c command, m *message) error {
	var err error
	switch {
	case c == cmdSwap:
		if err = r.Sets.swap(m.name, m.name2); err == nil {
			r.known.swap(m.name, m.name2)
		}
	case !r.Sets.Has(m.name):
		err = errMissing
	case r.references()[m.name] > 0:
		err = errRenameBusy
	default:
		if err = r.Sets.rename(m.name, m.name2); err == nil {
			r.known.rename(m.name, m.name2)
		}
	}
	if err != nil {
		return r.refused(err)
	}
	return nil
}

// knownSet is what the tool takes the set to be that the message names: what it has created itself, or else what the kernel says.
func (r *run) knownSet() error {
	m := &r.message
	if i := r.known.index(m.name); i >= 0 {
		m.kind, m.family = r.known[i].kind, r.known[i].family
	} else if s := r.Sets.find(m.name); s != nil {
		m.kind, m.family = s.kind, s.options.family
	} else {
		return r.refused(errMissing)
	}
	m.set(optType)
	m.set(optFamily)
	return nil
}

// isUnsupported says that the error is one of the imitation and not of the tool.
func isUnsupported(err error) bool { return errors.Is(err, errRangeSize) }
