package ipset

import "slices"

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
		r.begun = true
		return err
	}
	if changes && r.line != 0 {
		return r.aggregate(c)
	}
	defer func() { r.message = message{} }()
	return r.perform(c)
}

// ask asks the kernel for a type, which needs no answer where the tool knows it. It fails without a word where the answer is another one.
func (r *run) ask(kind *setType) error {
	if r.behind && !r.checked[kind] {
		return errReported
	}
	if kind.absent {
		return r.refused(errNoModule)
	}
	r.checked[kind] = true
	return nil
}

// answer is what the tool makes of the kernel's answer to a command that was carried out.
func (r *run) answer(err error) error {
	switch {
	case !r.behind && err == nil:
		return nil
	case !r.behind:
		return r.refused(err)
	case r.report.severity == sevNone:
		return r.fail("Internal protocol error")
	}
	return errReported
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

// commit sends the changes that are noted, or what was begun of a message that lacks a name.
func (r *run) commit() error {
	if r.begun {
		r.begun = false
		return r.answer(errProtocol)
	}
	p := r.pending
	if len(p.changes) == 0 {
		return nil
	}
	r.pending = pendingChanges{}
	at, err := r.sendChanges(&p)
	if err != nil && !r.behind {
		r.line = p.changes[at].line
	}
	return r.answer(err)
}

// sendChanges makes the kernel carry changes out up to the first that it refuses, which it tells.
func (r *run) sendChanges(p *pendingChanges) (at int, err error) {
	s := r.Sets.find(p.name)
	if s == nil {
		return 0, errMissing
	}
	for i := range p.changes {
		if err := r.Sets.change(s, p.adds, &p.changes[i].message, p.exist); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// perform asks the kernel for what the message says.
func (r *run) perform(c command) error {
	m := r.message
	switch c {
	case cmdList, cmdSave:
		return r.list(c, &m)
	case cmdTest:
		return r.test(&m)
	}
	err := r.answer(r.carryOut(c, &m))
	if err == nil {
		r.remember(c, &m)
	}
	return err
}

// carryOut makes the kernel do what a command says.
func (r *run) carryOut(c command, m *message) error {
	switch c {
	case cmdCreate:
		return r.Sets.create(m, r.exist)
	case cmdDestroy:
		return r.destroy(m)
	case cmdRename:
		return r.rename(m)
	case cmdSwap:
		return r.Sets.swap(m.name, m.name2)
	case cmdFlush:
		return r.flush(m)
	}
	s := r.Sets.find(m.name)
	if s == nil {
		return errMissing
	}
	return r.Sets.change(s, c == cmdAdd, m, r.exist)
}

// remember keeps in mind what became of sets.
func (r *run) remember(c command, m *message) {
	switch c {
	case cmdCreate:
		r.known.add(knownSet{m.name, m.kind, m.family})
	case cmdDestroy:
		r.known.remove(m.name, !m.has(optName))
	case cmdRename:
		r.known.rename(m.name, m.name2)
	case cmdSwap:
		r.known.swap(m.name, m.name2)
	}
}

func (r *run) test(m *message) error {
	s := r.Sets.find(m.name)
	if s == nil || r.behind {
		return r.answer(errMissing)
	}
	found, err := r.Sets.holds(s, m)
	switch {
	case err != nil:
		return r.answer(err)
	case found && r.quiet:
		return nil
	case r.quiet:
		return r.fail("Internal protocol error")
	}
	r.report.text = string(m.appendElement(nil))
	if found {
		r.note(sevWarning, " is in set %s.", m.name)
		return nil
	}
	r.note(sevNotice, " is NOT in set %s.", m.name)
	return errReported
}

func (r *run) destroy(m *message) error {
	references := r.references()
	if !m.has(optName) {
		names := r.Sets.names()
		if slices.ContainsFunc(names, func(name string) bool { return references[name] > 0 }) {
			return errBusy
		}
		for _, name := range names {
			r.Sets.destroy(name)
		}
		return nil
	}
	switch {
	case !r.Sets.Has(m.name) && !r.exist:
		return errMissing
	case references[m.name] > 0:
		return errBusy
	}
	r.Sets.destroy(m.name)
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
			return errMissing
		}
		r.Sets.flush(s)
	}
	return nil
}

func (r *run) rename(m *message) error {
	switch {
	case !r.Sets.Has(m.name):
		return errMissing
	case r.references()[m.name] > 0:
		return errRenameBusy
	}
	return r.Sets.rename(m.name, m.name2)
}

// knownSet is what the tool takes the set to be that the message names: what it has created itself, or else what the kernel says.
func (r *run) knownSet() error {
	m := &r.message
	if i := r.known.index(m.name); i >= 0 {
		m.kind, m.revision, m.family = r.known[i].kind, r.known[i].kind.revision, r.known[i].family
	} else {
		s := r.Sets.find(m.name)
		if s == nil || r.behind {
			return r.unknown()
		}
		m.family, m.revision = s.options.family, s.kind.revision
		// A type that a line of the shell has left in the message counts for more than the kernel's.
		if !m.has(optType) {
			m.kind = s.kind
		} else if s.kind.revision > m.kind.revision || !m.kind.takes(m.family) {
			family := map[Family]string{0: "unspec", inet: "inet", inet6: "inet6"}[m.family]
			return r.fail("Kernel-library incompatibility: set %s in kernel has got settype %s with family %s and revision %d while ipset library "+
				"does not support the settype with that family and revision.", m.name, m.kind.name, family, s.kind.revision)
		}
		r.checked[m.kind] = true
	}
	m.set(optType)
	m.set(optFamily)
	return nil
}

// unknown is a set that the tool cannot ask for.
func (r *run) unknown() error {
	if r.behind {
		return errReported
	}
	return r.refused(errMissing)
}
