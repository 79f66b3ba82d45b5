package fakeipt

import (
	"cmp"
	"errors"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
)

// ruleCell is a rule together with its counters, so that both are one allocation.
type ruleCell struct {
	rule     Rule
	counters netfilter.Counters
}

// target finds what the rule does: an extension, a verdict, or a chain that must be there.
func (x *execution) target(spec *ruleSpec) (Target, error) {
	lost := spec.noStandard && x.edit.dialect == netfilter.Legacy // what the tool makes rules with that have no extension for a target
	if lost && spec.jump == nil {
		return nil, noTarget([]byte(standardTarget))
	}
	if spec.jump == nil || spec.target != nil && !x.isNamesake(spec.jump) {
		return spec.target, nil
	}
	s := x.edit.slotOfWord(spec.jump)
	if lost && s.live {
		return nil, noTarget([]byte(standardTarget))
	}
	if spec.target != nil {
		x.warn("Warning: using chain %s, not extension\n", s.name)
	}
	if s.hook != 0 && x.edit.dialect == netfilter.Legacy {
		return s.jumpTo(spec.isGoto), errJumpToBuiltin
	}
	if s.live && (x.edit.exists || s.hook != 0 || x.edit.dialect == netfilter.Legacy) {
		if spec.foreign != nil {
			return nil, unknownOption(spec.foreign)
		}
		return s.jumpTo(spec.isGoto), nil
	}
	if t := spec.opaqueTarget(); t != nil {
		return t, nil
	}
	if x.edit.dialect == netfilter.NFT {
		return nil, &missingChain{string(spec.jump)}
	}
	if spec.isGoto {
		return nil, badParameter("goto '%s' is not a chain", spec.jump)
	}
	return nil, noTarget(spec.jump)
}

// noTarget is the error of a name that is neither a chain's nor a target's.
func noTarget(name []byte) error {
	return badParameter("Couldn't load target `%s':No such file or directory\n", name)
}

// isNamesake says that the legacy tools take the name of a target for the chain of that name. Only the lines of restore input that
// declare chains can make such a chain.
func (x *execution) isNamesake(name []byte) bool {
	if x.edit.dialect == netfilter.NFT {
		return false
	}
	if x.namesakes == nil {
		x.namesakes = &[]string{}
		for target := range targetExtensions {
			if x.edit.base.Chain(target) != nil {
				*x.namesakes = append(*x.namesakes, target)
			}
		}
	}
	return len(*x.namesakes) > 0 && slices.Contains(*x.namesakes, string(name)) && x.edit.slotOfWord(name).live
}

// build makes a rule; matches and target are shared, the rule is new.
func (x *execution) build(spec *ruleSpec, target Target, src, dst *AddrMatch) *Rule {
	cell := x.cells.alloc()
	r := &cell.rule
	r.Src, r.Dst, r.In, r.Out, r.Proto, r.Fragment = src, dst, spec.in, spec.out, spec.proto, spec.fragment
	if x.edit.dialect == netfilter.NFT {
		r.Proto.Number = uint16(uint8(spec.proto.Number)) // of an expression
	}
	r.Target, r.Counters, r.opaque = target, &cell.counters, spec.opaque != nil
	r.Matches = x.matches(spec.matches)
	if spec.counters {
		r.Counters.Set(spec.packets, spec.bytes)
	}
	return r
}

func (x *execution) matches(list []Match) []Match {
	switch {
	case len(list) == 0:
		return nil
	case len(list) == len(x.lastMatches) && equalMatches(list, x.lastMatches):
		return x.lastMatches
	}
	if cap(x.room)-len(x.room) < len(list) {
		x.room = make([]Match, 0, max(min(2*cap(x.room), 4*slabSize), len(list)))
	}
	start := len(x.room)
	x.room = append(x.room, list...)
	x.lastMatches = x.room[start:len(x.room):len(x.room)]
	return x.lastMatches
}

func equalMatches(a, b []Match) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// ruleCommand is -A, -I, -R, -C and -D of a rule that is spelled out, once for each pair of addresses.
func (x *execution) ruleCommand(c *command) error {
	target, err := x.target(&c.spec)
	if err != nil && !errors.Is(err, errJumpToBuiltin) {
		return err
	}
	if spec := &c.spec; spec.opaque != nil && len(spec.srcs)*len(spec.dsts) > 1 {
		return badParameter("not supported: several addresses in a rule with an extension that is not known")
	}
	s, chainErr := x.ruleChain(c)
	// Legacy prints the rules and then tries; nft prints each once it is done, or if there is no chain to append to.
	if c.verbose > 0 && (x.edit.dialect == netfilter.Legacy || chainErr != nil && c.op == 'A') {
		x.announceAll(&c.spec, target)
	}
	if chainErr != nil {
		return chainErr
	}
	if err != nil {
		// It is a jump to a built-in chain, which the legacy tools see when they have found the place.
		return cmp.Or(x.noPlace(c, s), err)
	}
	for _, src := range c.spec.srcs {
		for _, dst := range c.spec.dsts {
			r := x.build(&c.spec, target, src, dst)
			if err := x.applyRule(c, s, r); err != nil {
				return err
			}
			if c.verbose > 0 && x.edit.dialect == netfilter.NFT {
				x.announce(r)
			}
		}
	}
	return nil
}

// announceAll prints every rule of a command with -v.
func (x *execution) announceAll(spec *ruleSpec, target Target) {
	for _, src := range spec.srcs {
		for _, dst := range spec.dsts {
			x.announce(x.build(spec, target, src, dst))
		}
	}
}

// announce prints one rule.
func (x *execution) announce(r *Rule) {
	x.labels += r.labels()
	style := listStyle{numeric: true, bare: true, dialect: x.edit.dialect, family: x.edit.family}
	x.out = style.appendRule(x.out, 0, r)
}

// ruleChain finds the chain of a rule. The commands that add make the table first (nft).
func (x *execution) ruleChain(c *command) (*chainSlot, error) {
	s := x.edit.slotOf(c.chain)
	switch c.op {
	case 'A', 'I', 'R':
		if c.op == 'R' && x.edit.dialect == netfilter.NFT && s.hook&^x.edit.made != 0 {
			return nil, errNoChain
		}
		if s.live && (x.edit.exists || s.hook != 0) {
			x.edit.touch()
			x.edit.make(s.hook)
			return s, nil
		}
		return nil, errNoChain
	}
	if !s.live || !x.edit.exists {
		return nil, errBadRule
	}
	return s, nil
}

// noPlace refuses a number that the chain has no rule of.
func (x *execution) noPlace(c *command, s *chainSlot) error {
	switch n := len(s.currentRules()); {
	case c.op == 'I' && c.number-1 > n:
		return errInsertIndex
	case c.op == 'R' && c.number > n:
		return errReplaceIndex
	}
	return nil
}

func (x *execution) applyRule(c *command, s *chainSlot, r *Rule) error {
	e := x.edit
	if err := x.noPlace(c, s); err != nil {
		return err
	}
	switch c.op {
	case 'A':
		e.insert(s, len(s.currentRules()), r)
		e.admit(s, r, batchAppend)
	case 'I':
		index := max(c.number-1, 0)
		kind := batchInsert
		if index > 0 && index == len(s.currentRules()) {
			kind = batchAppend
		}
		if kind == batchInsert && index > 0 {
			e.failOn(s.currentRules()[index], kind, s)
		}
		e.insert(s, index, r)
		e.admit(s, r, kind)
	case 'R':
		e.replace(s, c.number-1, r)
		e.admit(s, r, batchReplace)
	case 'C':
		if e.findChecked(s, r) < 0 {
			return e.notFound(r)
		}
	default:
		index := e.findRule(s, r)
		if index < 0 {
			return e.notFound(r)
		}
		e.remove(s, index)
	}
	return nil
}

func (x *execution) deleteNumber(c *command) error {
	s, err := x.edit.chain(c.chain)
	if err != nil {
		return err
	}
	if c.number > len(s.currentRules()) {
		return errDeleteIndex
	}
	x.edit.remove(s, c.number-1)
	return nil
}

// notFound is the refusal of a rule that is not there. The legacy tools say something else of rules that do not end in a
// verdict.
func (e *tableEdit) notFound(r *Rule) error {
	if r.Target == nil || isVerdict(r.Target) || e.dialect == netfilter.NFT {
		return errBadRule
	}
	return errNoChain
}
