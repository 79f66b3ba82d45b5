package ipset

import "slices"

// kernel is the kernel as the tool sees it: the sets, what the tool takes them to be, and what it makes of the answers.
type kernel struct {
	*Tool
	*session
	exist   bool // -exist
	known   knownSets
	checked map[*setType]bool // types that the kernel was asked for
	// behind says that an answer of the kernel was left unread: a list of a set that is not there gets two errors. From then on the tool takes
	// each answer for that of the next question, and believes none.
	behind bool
}

// ask asks the kernel for a type, which needs no answer where the tool knows it. It fails without a word where the answer is another one.
func (k *kernel) ask(kind *setType) error {
	if k.behind && !k.checked[kind] {
		return errReported
	}
	if kind.absent {
		return k.refused(errNoModule)
	}
	k.checked[kind] = true
	return nil
}

// answer is what the tool makes of the kernel's answer to a command that was carried out.
func (k *kernel) answer(err error) error {
	switch {
	case !k.behind && err == nil:
		return nil
	case !k.behind:
		return k.refused(err)
	case k.report.severity == sevNone:
		return k.fail("Internal protocol error")
	}
	return errReported
}

// do makes the kernel carry a command out, and keeps in mind what became of it.
func (k *kernel) do(c command, m *message) error {
	err := k.answer(k.carryOut(c, m))
	if err == nil {
		k.remember(c, m)
	}
	return err
}

// carryOut makes the kernel do what a command says.
func (k *kernel) carryOut(c command, m *message) error {
	switch c {
	case cmdCreate:
		return k.Sets.create(m, k.exist)
	case cmdDestroy:
		return k.destroy(m)
	case cmdRename:
		return k.rename(m)
	case cmdSwap:
		return k.Sets.swap(m.name, m.name2)
	case cmdFlush:
		return k.flush(m)
	}
	s := k.Sets.find(m.name)
	if s == nil {
		return errMissing
	}
	return k.Sets.change(s, c == cmdAdd, m, k.exist)
}

// remember keeps in mind what became of sets.
func (k *kernel) remember(c command, m *message) {
	switch c {
	case cmdCreate:
		k.known.add(knownSet{m.name, m.kind, m.family})
	case cmdDestroy:
		k.known.remove(m.name, !m.has(optName))
	case cmdRename:
		k.known.rename(m.name, m.name2)
	case cmdSwap:
		k.known.swap(m.name, m.name2)
	}
}

func (k *kernel) test(m *message) error {
	s := k.Sets.find(m.name)
	if s == nil || k.behind {
		return k.answer(errMissing)
	}
	found, err := k.Sets.holds(s, m)
	switch {
	case err != nil:
		return k.answer(err)
	case found && k.quiet:
		return nil
	case k.quiet:
		return k.fail("Internal protocol error")
	}
	k.report.text = string(m.appendElement(nil))
	if found {
		k.note(sevWarning, " is in set %s.", m.name)
		return nil
	}
	k.note(sevNotice, " is NOT in set %s.", m.name)
	return errReported
}

func (k *kernel) destroy(m *message) error {
	references := k.references()
	if !m.has(optName) {
		names := k.Sets.names()
		if slices.ContainsFunc(names, func(name string) bool { return references[name] > 0 }) {
			return errBusy
		}
		for _, name := range names {
			k.Sets.destroy(name)
		}
		return nil
	}
	switch {
	case !k.Sets.Has(m.name) && !k.exist:
		return errMissing
	case references[m.name] > 0:
		return errBusy
	}
	k.Sets.destroy(m.name)
	return nil
}

func (k *kernel) flush(m *message) error {
	names := k.Sets.names()
	if m.has(optName) {
		names = []string{m.name}
	}
	for _, name := range names {
		s := k.Sets.find(name)
		if s == nil {
			return errMissing
		}
		k.Sets.flush(s)
	}
	return nil
}

func (k *kernel) rename(m *message) error {
	switch {
	case !k.Sets.Has(m.name):
		return errMissing
	case k.references()[m.name] > 0:
		return errRenameBusy
	}
	return k.Sets.rename(m.name, m.name2)
}

// sendChanges makes the kernel carry changes out up to the first that it refuses, which it tells.
func (k *kernel) sendChanges(p *pendingChanges) (at int, err error) {
	s := k.Sets.find(p.name)
	if s == nil {
		return 0, errMissing
	}
	for i := range p.changes {
		if err := k.Sets.change(s, p.adds, &p.changes[i].message, p.exist); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// knownSet is what the tool takes the set to be that the message names: what it has created itself, or else what the kernel says.
func (k *kernel) knownSet() error {
	m := &k.message
	if i := k.known.index(m.name); i >= 0 {
		m.kind, m.revision, m.family = k.known[i].kind, k.known[i].kind.revision, k.known[i].family
	} else {
		s := k.Sets.find(m.name)
		if s == nil || k.behind {
			return k.unknown()
		}
		m.family, m.revision = s.options.family, s.kind.revision
		// A type that a line of the shell has left in the message counts for more than the kernel's.
		if !m.has(optType) {
			m.kind = s.kind
		} else if s.kind.revision > m.kind.revision || !m.kind.takes(m.family) {
			family := map[Family]string{0: "unspec", inet: "inet", inet6: "inet6"}[m.family]
			return k.fail("Kernel-library incompatibility: set %s in kernel has got settype %s with family %s and revision %d while ipset library "+
				"does not support the settype with that family and revision.", m.name, m.kind.name, family, s.kind.revision)
		}
		k.checked[m.kind] = true
	}
	m.set(optType)
	m.set(optFamily)
	return nil
}

// unknown is a set that the tool cannot ask for.
func (k *kernel) unknown() error {
	if k.behind {
		return errReported
	}
	return k.refused(errMissing)
}
