package fakeipt

import (
	"errors"
	"fmt"
	"syscall"
)

// execution carries commands out on a table that is being edited.
type execution struct {
	edit        *tableEdit
	cells       slab[ruleCell]
	lastMatches []Match
	room        []Match             // for the matches of rules
	out         []byte              // what the commands print
	warn        func(suffix string) // of rules that a listing does not show
}

// ruleCell is a rule together with its counters, so that both are one allocation.
type ruleCell struct {
	rule     Rule
	counters Counters
}

// run carries one command out.
func (x *execution) run(c *command) error {
	e := x.edit
	switch c.op {
	case 'A', 'I', 'R', 'C':
		return x.ruleCommand(c)
	case 'D':
		if c.number > 0 {
			return x.deleteNumber(c)
		}
		return x.ruleCommand(c)
	case 'N':
		return e.createChain(c.chain)
	case 'X':
		return x.deleteChains(c)
	case 'E':
		return e.renameChain(c.chain, c.newName)
	case 'P':
		return x.policy(c)
	case 'F':
		return x.flush(c)
	case 'Z':
		return x.zero(c)
	}
	return x.listAndZero(c)
}

// listAndZero is -L and -S, also with -Z.
func (x *execution) listAndZero(c *command) error {
	list := x.listRules
	if c.op == 'L' {
		list = x.list
	}
	if err := list(c); err != nil || !c.zero {
		return err
	}
	e := x.edit
	if e.dialect == NFT {
		// The tool takes the chains that it has listed for chains that exist.
		existed := e.exists
		e.makeBuiltins(c.chain, c.chainGiven)
		if !existed {
			e.fail(e.line, batchZeroChain, syscall.ENOENT, e.madeChains()[0].name)
		}
	}
	return x.zero(c)
}

func (x *execution) policy(c *command) error {
	e := x.edit
	counters := &Counters{}
	if c.spec.counters && e.dialect == Legacy {
		counters.set(c.spec.packets, c.spec.bytes)
	}
	return e.setPolicy(c.chain, c.policy, counters)
}

func (x *execution) deleteChains(c *command) error {
	e := x.edit
	if c.chainGiven {
		s, err := e.chain(c.chain)
		if c.verbose > 0 && (e.dialect == Legacy || err == nil && s.hook == 0) {
			x.out = fmt.Appendf(x.out, "Deleting chain `%s'\n", c.chain)
		}
		return e.deleteChain(c.chain)
	}
	if !e.exists {
		return nil
	}
	if c.verbose > 0 {
		for _, name := range e.userChains() {
			x.out = fmt.Appendf(x.out, "Deleting chain `%s'\n", name)
		}
	}
	return e.deleteAllChains()
}

func (x *execution) flush(c *command) error {
	e := x.edit
	if (c.chainGiven || c.verbose > 0) && e.dialect == NFT {
		e.makeBuiltins(c.chain, c.chainGiven)
	}
	chains := e.allChains()
	if c.chainGiven {
		s, err := e.chain(c.chain)
		if err != nil {
			if c.verbose > 0 && e.dialect == Legacy {
				x.out = fmt.Appendf(x.out, "Flushing chain `%s'\n", c.chain)
			}
			return err
		}
		chains = []*chainSlot{s}
	}
	if !e.exists || !e.known && !c.chainGiven && c.verbose == 0 {
		return nil
	}
	for _, s := range chains {
		if c.verbose > 0 {
			x.out = fmt.Appendf(x.out, "Flushing chain `%s'\n", s.name)
		}
		e.flushChain(s)
	}
	return nil
}

func (x *execution) zero(c *command) error {
	e := x.edit
	if c.op == 'Z' && c.number > 0 {
		return x.zeroRule(c)
	}
	chains := e.madeChains()
	if c.chainGiven {
		s, err := e.chain(c.chain)
		if err != nil {
			if c.verbose > 0 && e.dialect == Legacy {
				x.out = fmt.Appendf(x.out, "Zeroing chain `%s'\n", c.chain)
			}
			return err
		}
		chains = []*chainSlot{s}
	}
	for _, s := range chains {
		if c.verbose > 0 {
			x.out = fmt.Appendf(x.out, "Zeroing chain `%s'\n", s.name)
		}
		e.zero(s, -1)
	}
	return nil
}

// zeroRule is -Z with the number of a rule.
func (x *execution) zeroRule(c *command) error {
	e := x.edit
	s, err := e.chain(c.chain)
	switch {
	case err != nil && e.dialect == NFT:
		return errBadRule
	case err != nil:
		return err
	case c.number > len(s.currentRules()) && e.dialect == NFT:
		return nil
	case c.number > len(s.currentRules()):
		return errCounterIndex
	}
	e.zero(s, c.number-1)
	return nil
}

// target finds what the rule does: an extension, a verdict, or a chain that must be there.
func (x *execution) target(spec *ruleSpec) (Target, error) {
	if spec.jump == nil || spec.target != nil {
		return spec.target, nil
	}
	s := x.edit.find(spec.jump)
	if s.hook != 0 && x.edit.dialect == Legacy {
		return s.jumpTo(spec.isGoto), errJumpToBuiltin
	}
	if s.live && (x.edit.exists || s.hook != 0 || x.edit.dialect == Legacy) {
		return s.jumpTo(spec.isGoto), nil
	}
	if x.edit.dialect == NFT {
		return nil, &missingChain{string(spec.jump)}
	}
	if spec.isGoto {
		return nil, badParameter("goto '%s' is not a chain", spec.jump)
	}
	return nil, badParameter("Couldn't load target `%s':No such file or directory\n", spec.jump)
}

// missingChain is a jump to a chain that is not there (nft, which notices when it commits).
type missingChain struct{ name string }

func (m *missingChain) Error() string { return fmt.Sprintf("Chain '%s' does not exist", m.name) }

// build makes a rule; matches and target are shared, the rule is new.
func (x *execution) build(spec *ruleSpec, target Target, src, dst *AddrMatch) *Rule {
	cell := x.cells.alloc()
	r := &cell.rule
	r.Src, r.Dst, r.In, r.Out, r.Proto, r.Fragment = src, dst, spec.in, spec.out, spec.proto, spec.fragment
	r.Target, r.Counters = target, &cell.counters
	r.Matches = x.matches(spec.matches)
	if spec.counters {
		r.Counters.set(spec.packets, spec.bytes)
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
	s, chainErr := x.ruleChain(c)
	// Legacy prints the rules and then tries; nft prints each once it is done, or if there is no chain to append to.
	if c.verbose > 0 && (x.edit.dialect == Legacy || chainErr != nil && c.op == 'A') {
		x.announceAll(&c.spec, target)
	}
	if chainErr != nil {
		return chainErr
	}
	if err != nil {
		return err
	}
	for _, src := range c.spec.srcs {
		for _, dst := range c.spec.dsts {
			r := x.build(&c.spec, target, src, dst)
			if err := x.applyRule(c, s, r); err != nil {
				return err
			}
			if c.verbose > 0 && x.edit.dialect == NFT {
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
	style := listStyle{numeric: true, bare: true, dialect: x.edit.dialect, family: x.edit.family}
	x.out = style.appendRule(x.out, 0, r)
}

// ruleChain finds the chain of a rule. The commands that add make the table first (nft).
func (x *execution) ruleChain(c *command) (*chainSlot, error) {
	s := x.edit.slotOf(c.chain)
	switch c.op {
	case 'A', 'I', 'R':
		if c.op == 'R' && x.edit.dialect == NFT && s.hook&^x.edit.made != 0 {
			return nil, errNoChain
		}
		if s.live && (x.edit.exists || s.hook != 0) {
			x.edit.touch()
			x.edit.made |= s.hook
			return s, nil
		}
		return nil, errNoChain
	}
	if !s.live || !x.edit.exists {
		return nil, errBadRule
	}
	return s, nil
}

func (x *execution) applyRule(c *command, s *chainSlot, r *Rule) error {
	e := x.edit
	switch c.op {
	case 'A':
		e.insert(s, len(s.currentRules()), r)
		e.admit(s, r, batchAppend)
	case 'I':
		index := max(c.number-1, 0)
		if index > len(s.currentRules()) {
			return errInsertIndex
		}
		kind := batchInsert
		if index > 0 && index == len(s.currentRules()) {
			kind = batchAppend
		}
		e.insert(s, index, r)
		e.admit(s, r, kind)
	case 'R':
		if c.number > len(s.currentRules()) {
			return errReplaceIndex
		}
		e.replace(s, c.number-1, r)
		e.admit(s, r, batchReplace)
	default:
		index := e.search(s, r)
		if index < 0 {
			return e.notFound(r)
		}
		if c.op == 'D' {
			e.remove(s, index)
		}
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

// errIncompatible is what the nft tools say about a chain that they do not find when they list it.
func errIncompatible(chain, table string) error {
	return &problem{status: statusOther, msg: fmt.Sprintf("chain `%s' in table `%s' is incompatible, use 'nft' tool.", chain, table)}
}

// listed are the chains that a listing is about.
func (x *execution) listed(c *command) ([]*chainSlot, error) {
	x.warn("")
	if !c.chainGiven {
		return x.edit.allChains(), nil
	}
	s := x.edit.slotOf(c.chain)
	if !s.live {
		if x.edit.dialect == NFT {
			return nil, errIncompatible(c.chain, x.edit.kind.name)
		}
		return nil, errNoChain
	}
	return []*chainSlot{s}, nil
}

func (x *execution) list(c *command) error {
	chains, err := x.listed(c)
	if err != nil {
		return err
	}
	style := listStyle{numeric: c.numeric, verbose: c.verbose > 0, exact: c.exact, lineNumbers: c.lineNumbers,
		dialect: x.edit.dialect, family: x.edit.family}
	for i, s := range chains {
		if i > 0 {
			x.out = append(x.out, '\n')
		}
		if c.number == 0 {
			x.out = style.appendChainHead(x.out, s)
		}
		for n, r := range s.currentRules() {
			if c.number == 0 || c.number == n+1 {
				x.out = style.appendRule(x.out, n+1, r)
			}
		}
	}
	return nil
}

// listRules is -S.
func (x *execution) listRules(c *command) error {
	chains, err := x.listed(c)
	if err != nil {
		return err
	}
	if c.number == 0 {
		for _, s := range chains {
			x.out = s.view().appendRuleListHead(x.out, c.verbose > 0)
		}
	}
	for _, s := range chains {
		for n, r := range s.currentRules() {
			if c.number != 0 && c.number != n+1 {
				continue
			}
			x.out = append(append(x.out, "-A "...), s.name...)
			x.out = r.appendMatches(x.out, x.edit.family, x.edit.dialect)
			if c.verbose > 0 {
				x.out = r.Counters.appendCounters(x.out, " -c ", " ", "")
			}
			x.out = append(r.appendTarget(x.out, x.edit.family, x.edit.dialect), '\n')
		}
	}
	return nil
}

// appendRuleListHead appends "-P CHAIN POLICY" or "-N CHAIN".
func (c *Chain) appendRuleListHead(dst []byte, counters bool) []byte {
	if c.Policy == PolicyNone {
		return append(append(append(dst, "-N "...), c.Name...), '\n')
	}
	dst = append(append(append(dst, "-P "...), c.Name...), ' ')
	dst = append(dst, c.Policy.policyText()...)
	if counters {
		dst = c.Counters.appendCounters(dst, " -c ", " ", "")
	}
	return append(dst, '\n')
}

// asProblem is the usage error in err, if it is one.
func asProblem(err error) (*problem, bool) {
	var p *problem
	ok := errors.As(err, &p)
	return p, ok
}

// notFound is the refusal of a rule that is not there. The legacy tools say something else of rules that do not end in a
// verdict.
func (e *tableEdit) notFound(r *Rule) error {
	if r.Target == nil || isVerdict(r.Target) || e.dialect == NFT {
		return errBadRule
	}
	return errNoChain
}
