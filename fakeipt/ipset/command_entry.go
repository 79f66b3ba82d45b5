package ipset

import "fmt"

// seen is the set as the tool takes it to be. foreign says that its family is another one.
func (t *run) seen(s *set) (as *set, foreign bool) {
	f, ok := t.created[s.name]
	if !ok || f == s.options.family {
		return s, false
	}
	other := *s
	other.options.family = f
	return &other, true
}

func (t *run) test(w *wordReader) error {
	s, err := t.set(w)
	if err != nil {
		return err
	}
	as, foreign := t.seen(s)
	c, err := as.parseChange("test", w)
	if err == nil {
		err = t.commit()
	}
	found := false
	if err == nil && !foreign {
		found, err = t.Sets.holds(s, &c)
	}
	if err != nil {
		return err
	}
	text := s.appendElement(nil, &c.element)
	if c.ref != "" {
		text = fmt.Appendf(text, " %s %s", map[bool]string{true: "before", false: "after"}[c.before], c.ref)
	}
	switch {
	case found && !t.quiet:
		fmt.Fprintf(t.Stderr, "Warning: %s is in set %s.\n", text, s.name)
		fallthrough
	case found:
		t.ended = true
	default:
		if !t.quiet {
			fmt.Fprintf(t.Stderr, "%s is NOT in set %s.\n", text, s.name)
		}
		return errNotInSet
	}
	return nil
}

// pendingChange is an add or del of restore that is not yet sent to the kernel.
type pendingChange struct {
	set     *set
	adds    bool
	foreign bool // the element is of another family than the set
	change  entryChange
	line    int
	exist   bool
}

func (t *run) add(w *wordReader) error { return t.changeEntry(w, true) }

func (t *run) del(w *wordReader) error { return t.changeEntry(w, false) }

// changeEntry notes a change: those of one set, one after the other, go to the kernel together, once a line for something else is read
// without an error. So the changes before a bad line are lost.
func (t *run) changeEntry(w *wordReader, adds bool) error {
	s, err := t.set(w)
	if err != nil {
		return err
	}
	command := "del"
	if adds {
		command = "add"
	}
	as, foreign := t.seen(s)
	c, err := as.parseChange(command, w)
	if err != nil {
		return err
	}
	if n := len(t.pending); n > 0 && (t.pending[n-1].set != s || t.pending[n-1].adds != adds) {
		if err := t.commit(); err != nil {
			return err
		}
	}
	t.pending = append(t.pending, pendingChange{s, adds, foreign, c, t.line, t.exist})
	return nil
}

// commit sends the changes that are noted, in one message with the flags of the first.
func (t *run) commit() error {
	line := t.line
	for i := range t.pending {
		p := &t.pending[i]
		err := errProtocol
		if !p.foreign {
			err = t.Sets.change(p.set, p.adds, &p.change, t.pending[0].exist)
		}
		if err != nil {
			t.line, t.pending = p.line, nil
			return err
		}
	}
	t.line, t.pending = line, nil
	return nil
}
