package ipset

import "errors"

func (t *run) setName(w *wordReader) (string, error) {
	name, _ := w.next()
	if len(name) > MaxName {
		return "", errNameLong(name)
	}
	return name, nil
}

// sentName is setName for a command that is then sent to the kernel, and the noted changes before it.
func (t *run) sentName(w *wordReader) (string, error) {
	name, err := t.setName(w)
	if err != nil {
		return "", err
	}
	return name, t.commit()
}

// sentSet is the set that the next word names, for a command that is sent to the kernel.
func (t *run) sentSet(w *wordReader) (*set, error) {
	name, err := t.sentName(w)
	if err != nil {
		return nil, err
	}
	return t.find(name)
}

// set is the set that the next word names.
func (t *run) set(w *wordReader) (*set, error) {
	name, err := t.setName(w)
	if err != nil {
		return nil, err
	}
	return t.find(name)
}

func (t *run) find(name string) (*set, error) {
	s := t.Sets.find(name)
	if s == nil {
		return nil, errMissing
	}
	return s, nil
}

func (t *run) create(w *wordReader) error {
	name, err := t.setName(w)
	if err != nil {
		return err
	}
	typeName, _ := w.next()
	kind, o, err := parseCreate(typeName, w)
	if err == nil {
		err = t.commit()
	}
	if err == nil {
		err = checkNewName(name)
	}
	if err != nil {
		return err
	}
	err = t.Sets.create(name, kind, o)
	if errors.Is(err, errExists) && t.exist {
		old := t.Sets.find(name)
		if old.kind == kind && old.options.same(o) {
			err = nil
		}
	}
	if err == nil {
		t.created[name] = o.family
	}
	return err
}

func (t *run) destroy(w *wordReader) error {
	if len(w.words) == 0 {
		return t.destroyAll()
	}
	s, err := t.sentSet(w)
	if errors.Is(err, errMissing) && t.exist {
		return nil
	}
	if err != nil {
		return err
	}
	if t.references()[s.name] > 0 {
		return errBusy
	}
	t.Sets.destroy(s.name)
	return nil
}

func (t *run) destroyAll() error {
	if err := t.commit(); err != nil {
		return err
	}
	references := t.references()
	names := t.Sets.names()
	for _, name := range names {
		if references[name] > 0 {
			return errBusy
		}
	}
	for _, name := range names {
		t.Sets.destroy(name)
	}
	return nil
}

func (t *run) flush(w *wordReader) error {
	if len(w.words) == 0 {
		if err := t.commit(); err != nil {
			return err
		}
		for _, name := range t.Sets.names() {
			t.Sets.flush(t.Sets.find(name))
		}
		return nil
	}
	s, err := t.sentSet(w)
	if err == nil {
		t.Sets.flush(s)
	}
	return err
}

func (t *run) rename(w *wordReader) error {
	from, err := t.setName(w)
	if err != nil {
		return err
	}
	to, err := t.sentName(w)
	if err == nil {
		err = checkNewName(to)
	}
	switch {
	case err != nil:
		return err
	case !t.Sets.Has(from):
		return errMissing
	case t.references()[from] > 0:
		return errRenameBusy
	}
	return t.Sets.rename(from, to)
}

func (t *run) swap(w *wordReader) error {
	a, err := t.setName(w)
	if err != nil {
		return err
	}
	b, err := t.sentName(w)
	if err != nil {
		return err
	}
	return t.Sets.swap(a, b)
}
