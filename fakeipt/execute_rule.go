package fakeipt

import (
	"cmp"
	"errors"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// ruleCell is a rule together with its counters, so that both are one allocation.
type ruleCell struct {
	rule     xtables.Rule
	counters netfilter.Counters
}

// target finds what the rule does: an extension, a verdict, or a chain that must be there.
func (x *execution) target(spec *ruleSpec) (xtables.Target, error) {
	lost := spec.noStandard && x.edit.Dialect == netfilter.Legacy // what the tool makes rules with that have no extension for a target
	if lost && spec.jump == nil {
		return nil, noTarget([]byte(xtables.StandardTarget))
	}
	if spec.jump == nil || spec.target != nil && !x.isNamesake(spec.jump) {
		return spec.target, nil
	}
	s := x.edit.SlotOfWord(spec.jump)
	if lost && s.Live {
		return nil, noTarget([]byte(xtables.StandardTarget))
	}
	if spec.target != nil {
		x.Warn("Warning: using chain %s, not extension\n", s.Name)
	}
	if s.Hook != 0 && x.edit.Dialect == netfilter.Legacy {
		return s.JumpTo(spec.isGoto), ruleset.ErrJumpToBuiltin
	}
	if s.Live && (x.edit.Exists || s.Hook != 0 || x.edit.Dialect == netfilter.Legacy) {
		if spec.foreign != nil {
			return nil, unknownOption(spec.foreign)
		}
		return s.JumpTo(spec.isGoto), nil
	}
	if t := spec.opaqueTarget(); t != nil {
		return t, nil
	}
	if x.edit.Dialect == netfilter.NFT {
		return nil, &missingChain{string(spec.jump)}
	}
	if spec.isGoto {
		return nil, xtables.BadParameter("goto '%s' is not a chain", spec.jump)
	}
	return nil, noTarget(spec.jump)
}

// noTarget is the error of a name that is neither a chain's nor a target's.
func noTarget(name []byte) error {
	return xtables.BadParameter("Couldn't load target `%s':No such file or directory\n", name)
}

// isNamesake says that the legacy tools take the name of a target for the chain of that name. Only the lines of restore input that
// declare chains can make such a chain.
func (x *execution) isNamesake(name []byte) bool {
	if x.edit.Dialect == netfilter.NFT {
		return false
	}
	if x.namesakes == nil {
		x.namesakes = &[]string{}
		for target := range target.All() {
			if x.edit.Base.Chain(target) != nil {
				*x.namesakes = append(*x.namesakes, target)
			}
		}
	}
	return len(*x.namesakes) > 0 && slices.Contains(*x.namesakes, string(name)) && x.edit.SlotOfWord(name).Live
}

// build makes a rule; matches and target are shared, the rule is new.
func (x *execution) build(spec *ruleSpec, target xtables.Target, src, dst *xtables.AddrMatch) *xtables.Rule {
	cell := x.cells.Alloc()
	r := &cell.rule
	r.Src, r.Dst, r.In, r.Out, r.Proto, r.Fragment = src, dst, spec.in, spec.out, spec.proto, spec.fragment
	if x.edit.Dialect == netfilter.NFT {
		r.Proto.Number = uint16(uint8(spec.proto.Number)) // of an expression
	}
	r.Target, r.Counters, r.HasOpaque = target, &cell.counters, spec.opaque != nil
	r.Matches = x.matches(spec.matches)
	if spec.counters {
		r.Counters.Set(spec.packets, spec.bytes)
	}
	return r
}

func (x *execution) matches(list []xtables.Match) []xtables.Match {
	switch {
	case len(list) == 0:
		return nil
	case len(list) == len(x.lastMatches) && equalMatches(list, x.lastMatches):
		return x.lastMatches
	}
	if cap(x.room)-len(x.room) < len(list) {
		x.room = make([]xtables.Match, 0, max(min(2*cap(x.room), 4*xtables.SlabSize), len(list)))
	}
	start := len(x.room)
	x.room = append(x.room, list...)
	x.lastMatches = x.room[start:len(x.room):len(x.room)]
	return x.lastMatches
}

func equalMatches(a, b []xtables.Match) bool {
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
	if err != nil && !errors.Is(err, ruleset.ErrJumpToBuiltin) {
		return err
	}
	if spec := &c.spec; spec.opaque != nil && len(spec.srcs)*len(spec.dsts) > 1 {
		return xtables.BadParameter("not supported: several addresses in a rule with an extension that is not known")
	}
	s, chainErr := x.ruleChain(c)
	// Legacy prints the rules and then tries; nft prints each once it is done, or if there is no chain to append to.
	if c.verbose > 0 && (x.edit.Dialect == netfilter.Legacy || chainErr != nil && c.op == 'A') {
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
			if c.verbose > 0 && x.edit.Dialect == netfilter.NFT {
				x.announce(r)
			}
		}
	}
	return nil
}

// announceAll prints every rule of a command with -v.
func (x *execution) announceAll(spec *ruleSpec, target xtables.Target) {
	for _, src := range spec.srcs {
		for _, dst := range spec.dsts {
			x.announce(x.build(spec, target, src, dst))
		}
	}
}

// announce prints one rule.
func (x *execution) announce(r *xtables.Rule) {
	x.labels += match.Labels(r)
	style := xtables.ListStyle{Numeric: true, Bare: true, Dialect: x.edit.Dialect, Family: x.edit.Family}
	x.out = style.AppendRule(x.out, 0, r)
}

// ruleChain finds the chain of a rule. The commands that add make the table first (nft).
func (x *execution) ruleChain(c *command) (*ruleset.Slot, error) {
	s := x.edit.SlotOf(c.chain)
	switch c.op {
	case 'A', 'I', 'R':
		if c.op == 'R' && x.edit.Dialect == netfilter.NFT && s.Hook&^x.edit.Made != 0 {
			return nil, ruleset.ErrNoChain
		}
		if s.Live && (x.edit.Exists || s.Hook != 0) {
			x.edit.Touch()
			x.edit.Make(s.Hook)
			return s, nil
		}
		return nil, ruleset.ErrNoChain
	}
	if !s.Live || !x.edit.Exists {
		return nil, ruleset.ErrBadRule
	}
	return s, nil
}

// noPlace refuses a number that the chain has no rule of.
func (x *execution) noPlace(c *command, s *ruleset.Slot) error {
	switch n := len(s.CurrentRules()); {
	case c.op == 'I' && c.number-1 > n:
		return ruleset.ErrInsertIndex
	case c.op == 'R' && c.number > n:
		return ruleset.ErrReplaceIndex
	}
	return nil
}

func (x *execution) applyRule(c *command, s *ruleset.Slot, r *xtables.Rule) error {
	e := x.edit
	if err := x.noPlace(c, s); err != nil {
		return err
	}
	switch c.op {
	case 'A':
		e.Insert(s, len(s.CurrentRules()), r)
		e.Admit(s, r, ruleset.RuleAppend)
	case 'I':
		index := max(c.number-1, 0)
		kind := ruleset.RuleInsert
		if index > 0 && index == len(s.CurrentRules()) {
			kind = ruleset.RuleAppend
		}
		if kind == ruleset.RuleInsert && index > 0 {
			e.FailOn(s.CurrentRules()[index], kind, s)
		}
		e.Insert(s, index, r)
		e.Admit(s, r, kind)
	case 'R':
		e.Replace(s, c.number-1, r)
		e.Admit(s, r, ruleset.RuleReplace)
	case 'C':
		index := findChecked(e, s, r)
		if err := x.native.compare(s.CurrentRules(), r, index); err != nil {
			return err
		}
		if index < 0 {
			return notFound(e, r)
		}
	default:
		index := e.FindRule(s, r)
		if err := x.native.compare(s.CurrentRules(), r, index); err != nil {
			return err
		}
		if index < 0 {
			return notFound(e, r)
		}
		e.Remove(s, index)
	}
	return nil
}

func (x *execution) deleteNumber(c *command) error {
	s, err := x.edit.Chain(c.chain)
	if err != nil {
		return err
	}
	if c.number > len(s.CurrentRules()) {
		return ruleset.ErrDeleteIndex
	}
	x.edit.Remove(s, c.number-1)
	return nil
}

// notFound is the refusal of a rule that is not there. The legacy tools say something else of rules that do not end in a
// verdict.
func notFound(e *ruleset.Edit, r *xtables.Rule) error {
	if r.Target == nil || xtables.IsVerdict(r.Target) || e.Dialect == netfilter.NFT {
		return ruleset.ErrBadRule
	}
	return ruleset.ErrNoChain
}
