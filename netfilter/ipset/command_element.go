package ipset

func (r *run) parseCreate(name, typeName string, words []string) error {
	if err := r.parser.parseName(optName, name); err != nil {
		return err
	}
	if len(typeName) > MaxName {
		return r.syntaxError("typename '%s' is longer than %d characters", typeName, MaxName)
	}
	kind := findType(typeName)
	if kind == nil {
		return r.syntaxError("typename '%s' is unknown", typeName)
	}
	kind, err := r.typeOf(kind)
	if err != nil {
		return err
	}
	// The family comes first, since other options hang on it.
	for _, family := range []bool{true, false} {
		if err := r.parser.parseKeywords(kind, cmdCreate, words, family); err != nil {
			return err
		}
	}
	return r.parser.check(kind, cmdCreate)
}

// typeOf is the type of a set to be made: the one that a line of the shell has left in the message, before a mistake was seen in it, or
// else the one that the line names.
func (r *run) typeOf(kind *setType) (*setType, error) {
	m := &r.message
	if m.has(optType) {
		return m.kind, nil
	}
	if !m.has(optFamily) {
		m.family = 0
	}
	if !kind.takes(m.family) {
		return nil, r.syntaxError("unknown settype %s", kind.name)
	}
	chosen := m.family == 0 && kind.bothFamilies()
	switch {
	case chosen:
		m.family = inet
	case m.family == 0:
		m.family = kind.family
	}
	m.set(optFamily)
	if err := r.kernel.ask(kind); err != nil {
		return nil, err
	}
	m.kind, m.revision = kind, kind.revision
	m.set(optType)
	if chosen {
		m.ignored |= optionsOf(optFamily) // it may be said once
	}
	return kind, nil
}

// parseChange reads what stands behind add, del or test.
func (r *run) parseChange(c command, name, element string, words []string) error {
	if err := r.parser.parseName(optName, name); err != nil {
		return err
	}
	if err := r.kernel.knownSet(); err != nil {
		return err
	}
	kind := r.message.kind
	if err := r.parser.parseElement(kind, element); err != nil {
		return err
	}
	if err := r.parser.parseKeywords(kind, c, words, false); err != nil {
		return err
	}
	return r.parser.check(kind, c)
}
