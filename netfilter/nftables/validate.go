package nftables

import (
	"cmp"
	"slices"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// maxDepth is how many chains below a base chain packets can go (NFT_JUMP_STACK_SIZE less one).
const maxDepth = 15

// reach is from where packets come to a chain or a set, and over how many jumps at most.
type reach struct {
	bases contexts
	depth int8
}

// leads says that the rule counts for whether the table is valid.
func (r *Rule) leads() bool {
	for _, e := range r.Exprs {
		switch e := e.(type) {
		case *expr.Immediate:
			if v := e.Data.Verdict; v != nil && v.Chain != "" {
				return true
			}
		case *expr.Lookup:
			if e.Map {
				return true
			}
		default:
			if contextsOf(e, Inet) != everywhere || contextsOf(e, Netdev) != everywhere {
				return true
			}
		}
	}
	return false
}

// firstInvalid is the first table in which a rule that packets come to stands where it must not, or whose chains packets cannot leave; nil
// if there is none (nf_tables_validate).
func (tx *transaction) firstInvalid() *tableEdit {
	slices.SortFunc(tx.edits, func(a, b *tableEdit) int { return cmp.Compare(a.Handle, b.Handle) })
	for _, t := range tx.edits {
		if !t.deleted && !t.valid() {
			return t
		}
	}
	return nil
}

// valid looks at what was added. What is reached no more counts as reached until a fault is found: then everything is looked at.
func (t *tableEdit) valid() bool {
	s := spreading{t: t}
	for _, name := range t.dirtyChains {
		s.chain(name)
	}
	for _, d := range t.dirtyVerdicts {
		// The map is visited with all its verdicts once more reaches it.
		if entry := t.sets.Ref(d.set); entry != nil && entry.reach.bases != 0 {
			s.verdict(d.verdict, entry.reach)
		}
	}
	t.dirtyChains, t.dirtyVerdicts = nil, nil
	return s.run() || t.validWhole()
}

// validWhole works out anew what reaches each chain and set.
func (t *tableEdit) validWhole() bool {
	for _, c := range t.Chains() {
		t.chains.Ref(c.Name).reach = reach{}
	}
	for _, s := range t.Sets() {
		t.sets.Ref(s.Name).reach = reach{}
	}
	s := spreading{t: t}
	for _, c := range t.bases {
		t.chains.Ref(c.Name).reach = reach{bases: c.Hooking.context()}
		s.chain(c.Name)
	}
	return s.run()
}

// spreading takes what reaches chains and sets to those that they lead to.
type spreading struct {
	t       *tableEdit
	chains  []string
	sets    []string
	invalid bool
}

func (s *spreading) chain(name string) { s.chains = append(s.chains, name) }

func (s *spreading) set(name string) { s.sets = append(s.sets, name) }

// run says whether all that was reached is valid.
func (s *spreading) run() bool {
	for !s.invalid {
		if last := len(s.chains) - 1; last >= 0 {
			name := s.chains[last]
			s.chains = s.chains[:last]
			s.visitChain(name)
			continue
		}
		last := len(s.sets) - 1
		if last < 0 {
			return true
		}
		name := s.sets[last]
		s.sets = s.sets[:last]
		s.visitSet(name)
	}
	return false
}

func (s *spreading) visitChain(name string) {
	entry := s.t.chains.Ref(name)
	if entry == nil || entry.reach.bases == 0 {
		return
	}
	from := entry.reach
	for _, r := range entry.chain.Rules {
		for _, e := range r.Exprs {
			switch e := e.(type) {
			case *expr.Immediate:
				s.verdict(e.Data.Verdict, from)
			case *expr.Lookup:
				if e.Map {
					s.lookup(e.Set, from)
				}
			default:
				if from.bases&^contextsOf(e, s.t.Family) != 0 {
					s.invalid = true
				}
			}
		}
	}
}

func (s *spreading) lookup(name string, from reach) {
	entry := s.t.sets.Ref(name)
	if entry != nil && entry.set.DataType == DataVerdict && entry.reach.grow(from) {
		s.set(name)
	}
}

func (s *spreading) visitSet(name string) {
	entry := s.t.sets.Ref(name)
	if entry == nil || entry.reach.bases == 0 {
		return
	}
	from := entry.reach
	entry.set.members.Load().each(func(e *Element) { s.verdict(verdictOf(e), from) })
}

// verdict goes on where a verdict leads to.
func (s *spreading) verdict(v *expr.Verdict, from reach) {
	if v == nil || v.Chain == "" {
		return
	}
	entry := s.t.chains.Ref(v.Chain)
	if entry == nil {
		return
	}
	from.depth++
	if from.depth > maxDepth {
		s.invalid = true
		return
	}
	if entry.reach.grow(from) {
		s.chain(v.Chain)
	}
}

// grow adds another way to be reached, and says whether it is farther than those before.
func (r *reach) grow(other reach) bool {
	if other.bases&^r.bases == 0 && other.depth <= r.depth {
		return false
	}
	r.bases |= other.bases
	r.depth = max(r.depth, other.depth)
	return true
}

// checked is the fault of a table that a rule or element has made invalid, while the kernel looks for the one to blame
// (NFT_VALIDATE_DO). Then each one that is added later is refused as well. leads says whether the new one counts.
func (t *tableEdit) checked(leads bool) *fault {
	if !t.checking {
		return nil
	}
	switch {
	case t.fault == 0 && !leads:
		return nil
	case t.fault == 0 && t.valid(), t.fault != 0 && t.thinned && t.validWhole():
		t.fault = 0
	case t.fault == 0 || t.thinned:
		t.fault = t.faultOf()
	}
	t.thinned = false
	if t.fault == 0 {
		return nil
	}
	return refuse(t.fault, PartWhole)
}

// faultOf is what the kernel says of a table (nft_table_validate): it goes from each base chain wherever packets can go.
func (t *tableEdit) faultOf() syscall.Errno {
	for _, c := range t.bases {
		v := validation{t: t, from: c.Hooking.context(), seen: map[string]int{}}
		if errno := v.chain(c, 0); errno != 0 {
			return errno
		}
	}
	return 0
}

// validation is nft_chain_validate from one base chain.
type validation struct {
	t    *tableEdit
	from contexts
	seen map[string]int // the level that was fine, and one more
}

func (v *validation) chain(c *Chain, level int) syscall.Errno {
	if level > maxDepth {
		return syscall.EMLINK
	}
	if v.seen[c.Name] > level {
		return 0
	}
	for _, r := range c.Rules {
		for _, e := range r.Exprs {
			if errno := v.expr(e, level); errno != 0 {
				return errno
			}
		}
	}
	v.seen[c.Name] = level + 1
	return 0
}

func (v *validation) expr(e expr.Expr, level int) syscall.Errno {
	switch e := e.(type) {
	case *expr.Immediate:
		return v.verdict(e.Data.Verdict, level)
	case *expr.Lookup:
		set := v.t.Set(e.Set)
		if set == nil || set.DataType != DataVerdict {
			return 0
		}
		for _, element := range set.Elements(v.t.tx.now) {
			if errno := v.verdict(verdictOf(element), level); errno != 0 {
				return errno
			}
		}
	default:
		if v.from&^contextsOf(e, v.t.Family) != 0 {
			return syscall.EOPNOTSUPP
		}
	}
	return 0
}

func (v *validation) verdict(to *expr.Verdict, level int) syscall.Errno {
	if to == nil || to.Chain == "" {
		return 0
	}
	if c := v.t.Chain(to.Chain); c != nil {
		return v.chain(c, level+1)
	}
	return 0
}
