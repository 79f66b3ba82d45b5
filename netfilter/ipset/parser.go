package ipset

import "slices"

// parser reads the words of a command into the session's message.
type parser struct{ *session }

func (p *parser) parseName(o option, name string) error {
	if len(name) > MaxName {
		return p.syntaxError("setname '%s' is longer than %d characters", name, MaxName)
	}
	m := &p.message
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

// parseKeywords reads the options of a command: that of the family only, or all others.
func (p *parser) parseKeywords(kind *setType, c command, words []string, family bool) error {
	keywords := kind.keywords(c)
	for i := 0; i < len(words); i++ {
		word := words[i]
		bare := word
		if len(word) > 1 && word[:2] == "--" {
			bare = word[2:]
		}
		at := slices.IndexFunc(keywords, func(k *keyword) bool { return k.name == bare })
		if at < 0 {
			return p.usage("Unknown argument: `%s'", word)
		}
		k := keywords[at]
		if since := kind.revisions.of(k.opt); since > p.message.revision && p.message.has(optType) {
			return p.usage("Argument `%s' is supported in the kernel module of the set type %s starting from the revision %d "+
				"and you have installed revision %d only. Your kernel is behind your ipset utility.", k.name, kind.name, since, p.message.revision)
		}
		if k.value {
			if i++; i == len(words) {
				return p.usage("Missing mandatory argument of option `%s'", k.name)
			}
		}
		if family != (k.opt == optFamily) {
			continue
		}
		if m := &p.message; m.has(k.opt) && !(k.opt == optFamily && m.ignored.has(optFamily)) {
			return p.syntaxError("%s already specified", k.name)
		}
		if err := k.parse(p, k.opt, words[i]); err != nil {
			return err
		}
	}
	return nil
}

// check looks whether all is there that a command needs, and nothing that it does not allow. The shell goes on all the same.
func (p *parser) check(kind *setType, c command) error {
	if err := p.checkNeeded(kind, c); isExit(err) {
		return err
	}
	if err := p.checkAllowed(kind, c); isExit(err) {
		return err
	}
	return nil
}

func (p *parser) checkNeeded(kind *setType, c command) error {
	given := p.message.given
	if given.has(optCIDR) {
		given |= optionsOf(optIPTo)
	}
	missing := kind.needed(c) &^ given
	if missing == 0 {
		return nil
	}
	keywords := kind.keywords(c)
	if len(keywords) == 0 {
		return p.bug("There are missing mandatory flags but can't check them. It's a bug, please report the problem.")
	}
	for _, k := range keywords {
		if missing.has(k.opt) {
			return p.usage("Mandatory option `%s' is missing", k.name)
		}
	}
	return nil
}

func (p *parser) checkAllowed(kind *setType, c command) error {
	m := &p.message
	allowed, keywords := kind.allowed(c)|unlooked(c), kind.keywords(c)
	for o := firstElementOption; o < optFlags; o++ {
		if allowed.has(o) || !m.has(o) {
			continue
		}
		what := map[option]string{optCIDR: "IP/CIDR", optIPTo: "FROM-TO IP", optPortTo: "FROM-TO port"}[o]
		family := map[Family]string{0: "unspec", inet: "inet", inet6: "inet6"}[m.family]
		switch {
		case what != "":
			return p.bug("%s range is not allowed in command %s with set type %s and family %s", what, c.word(), kind.name, family)
		case len(keywords) == 0:
			return p.bug("There are not allowed options (%d) but option list is empty. It's a bug, please report the problem.", o)
		}
		return p.bug("There are not allowed options (%d) but can't resolve them. It's a bug, please report the problem.", o)
	}
	return nil
}
