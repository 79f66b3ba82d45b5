package ipset

import "slices"

func (r *run) parseName(o option, name string) error {
	if len(name) > MaxName {
		return r.syntaxError("setname '%s' is longer than %d characters", name, MaxName)
	}
	m := &r.message
	switch o {
	case optName:
		m.name = name
	case optName2:
		m.name2 = name
	case optMember:
		m.member = name
	case optReference:
		m.reference = name
	}
	m.set(o)
	return nil
}

func (r *run) parseCreate(name, typeName string, words []string) error {
	if err := r.parseName(optName, name); err != nil {
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
		if err := r.parseKeywords(kind, cmdCreate, words, family); err != nil {
			return err
		}
	}
	return r.check(kind, cmdCreate)
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
	if err := r.ask(kind); err != nil {
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
	if err := r.parseName(optName, name); err != nil {
		return err
	}
	if err := r.knownSet(); err != nil {
		return err
	}
	kind := r.message.kind
	if err := r.parseElement(kind, element); err != nil {
		return err
	}
	if err := r.parseKeywords(kind, c, words, false); err != nil {
		return err
	}
	return r.check(kind, c)
}

// parseKeywords reads the options of a command: that of the family only, or all others.
func (r *run) parseKeywords(kind *setType, c command, words []string, family bool) error {
	keywords := kind.keywords(c)
	for i := 0; i < len(words); i++ {
		word := words[i]
		bare := word
		if len(word) > 1 && word[:2] == "--" {
			bare = word[2:]
		}
		at := slices.IndexFunc(keywords, func(k *keyword) bool { return k.name == bare })
		if at < 0 {
			return r.usage("Unknown argument: `%s'", word)
		}
		k := keywords[at]
		if since := kind.revisions.of(k.opt); since > r.message.revision && r.message.has(optType) {
			return r.usage("Argument `%s' is supported in the kernel module of the set type %s starting from the revision %d and you have installed "+
				"revision %d only. Your kernel is behind your ipset utility.", k.name, kind.name, since, r.message.revision)
		}
		if k.value {
			if i++; i == len(words) {
				return r.usage("Missing mandatory argument of option `%s'", k.name)
			}
		}
		if family != (k.opt == optFamily) {
			continue
		}
		if m := &r.message; m.has(k.opt) && !(k.opt == optFamily && m.ignored.has(optFamily)) {
			return r.syntaxError("%s already specified", k.name)
		}
		if err := k.parse(r, k.opt, words[i]); err != nil {
			return err
		}
	}
	return nil
}

// check looks whether all is there that a command needs, and nothing that it does not allow. The shell goes on all the same.
func (r *run) check(kind *setType, c command) error {
	if err := r.checkNeeded(kind, c); isExit(err) {
		return err
	}
	if err := r.checkAllowed(kind, c); isExit(err) {
		return err
	}
	return nil
}

func (r *run) checkNeeded(kind *setType, c command) error {
	given := r.message.given
	if given.has(optCIDR) {
		given |= optionsOf(optIPTo)
	}
	missing := kind.needed(c) &^ given
	if missing == 0 {
		return nil
	}
	keywords := kind.keywords(c)
	if len(keywords) == 0 {
		return r.bug("There are missing mandatory flags but can't check them. It's a bug, please report the problem.")
	}
	for _, k := range keywords {
		if missing.has(k.opt) {
			return r.usage("Mandatory option `%s' is missing", k.name)
		}
	}
	return nil
}

func (r *run) checkAllowed(kind *setType, c command) error {
	m := &r.message
	allowed, keywords := kind.allowed(c)|unlooked(c), kind.keywords(c)
	for o := firstElementOption; o < optFlags; o++ {
		if allowed.has(o) || !m.has(o) {
			continue
		}
		what := map[option]string{optCIDR: "IP/CIDR", optIPTo: "FROM-TO IP", optPortTo: "FROM-TO port"}[o]
		family := map[Family]string{0: "unspec", inet: "inet", inet6: "inet6"}[m.family]
		switch {
		case what != "":
			return r.bug("%s range is not allowed in command %s with set type %s and family %s", what, c.word(), kind.name, family)
		case len(keywords) == 0:
			return r.bug("There are not allowed options (%d) but option list is empty. It's a bug, please report the problem.", o)
		}
		return r.bug("There are not allowed options (%d) but can't resolve them. It's a bug, please report the problem.", o)
	}
	return nil
}
