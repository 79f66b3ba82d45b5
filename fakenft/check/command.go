package check

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// objectKinds are the kinds of commands that are about one object.
var objectKinds = map[syntax.Kind]expr.ObjectType{
	syntax.KindCounter: expr.ObjectCounter, syntax.KindQuota: expr.ObjectQuota, syntax.KindLimit: expr.ObjectLimit,
	syntax.KindCTHelper: expr.ObjectCTHelper, syntax.KindCTTimeout: expr.ObjectCTTimeout, syntax.KindCTExpectation: expr.ObjectCTExpect,
	syntax.KindSecmark: expr.ObjectSecmark, syntax.KindSynproxy: expr.ObjectSynproxy,
}

func (c *Checker) command(cmd *syntax.Command) bool {
	switch cmd.Op {
	case syntax.OpAdd, syntax.OpCreate, syntax.OpInsert, syntax.OpReplace:
		return c.adds(cmd)
	case syntax.OpDelete:
		return c.deletes(cmd)
	case syntax.OpGet:
		return c.elements(cmd)
	case syntax.OpList:
		return c.lists(cmd)
	case syntax.OpReset:
		return cmd.Handle.Table == "" || c.tx.cache.table(tableOf(&cmd.Handle)) != nil || c.tx.noTable()
	case syntax.OpFlush:
		return c.flushes(cmd)
	case syntax.OpRename:
		t := c.tx.cache.table(tableOf(&cmd.Handle))
		switch {
		case t == nil:
			return c.tx.noTable()
		case !t.hasChain(cmd.Handle.Chain):
			return c.tx.noChain()
		}
		return true
	case syntax.OpDescribe:
		if _, word := cmd.Describe.(*syntax.Symbol); !word {
			return c.sets.typeOnly(cmd.Describe)
		}
	case syntax.OpExport:
		return c.wrong("JSON export is no longer supported, use 'nft -j list ruleset' instead", cmd.Loc)
	case syntax.OpMonitor:
		if cmd.Word != "" && cmd.Word != "new" && cmd.Word != "destroy" {
			return c.wrong("invalid event "+cmd.Word, cmd.Loc)
		}
	}
	return true
}

func (c *Checker) adds(cmd *syntax.Command) bool {
	switch cmd.Kind {
	case syntax.KindElements:
		return c.elements(cmd)
	case syntax.KindSet, syntax.KindMap:
		if cmd.Set == nil {
			return true
		}
		fillHandle(&cmd.Set.Handle, &cmd.Handle)
		ok := c.sets.evalSetDecl(cmd.Set)
		if cmd.Op == syntax.OpCreate {
			cmd.Set.Elements, cmd.Set.Unsent = nil, cmd.Set.Elements // nft forgets what is within something that it creates
		}
		return ok
	case syntax.KindRule:
		cmd.Rule.Handle = &cmd.Handle
		return c.stmts.evalRule(cmd.Rule) && (!c.tx.placesRules || c.tx.placeRule(cmd))
	case syntax.KindChain:
		if cmd.Chain != nil {
			fillHandle(&cmd.Chain.Handle, &cmd.Handle)
		}
		if cmd.Chain != nil && cmd.Op == syntax.OpCreate {
			cmd.Chain.Rules = nil
		}
		ok := c.decls.evalChain(cmd.Chain)
		if cmd.Chain != nil {
			return c.evalRules(cmd.Chain) && ok
		}
		return ok
	case syntax.KindTable:
		return c.evalTable(cmd)
	case syntax.KindFlowtable:
		fillHandle(&cmd.Flow.Handle, &cmd.Handle)
		return c.decls.evalFlowtable(cmd.Flow)
	}
	if cmd.Object != nil {
		fillHandle(&cmd.Object.Handle, &cmd.Handle)
		return c.decls.evalObject(cmd.Object)
	}
	return true
}

// fillHandle gives a declaration the names that stand in the command.
func fillHandle(h, from *syntax.Handle) {
	inherit(h, from)
	if h.Name == "" {
		h.Name, h.NameLoc = from.Name, from.NameLoc
	}
	if h.Number == 0 {
		h.Number, h.NumberLoc = from.Number, from.NumberLoc
	}
	if h.Placed == nil {
		h.Placed = from.Placed
	}
}

func (c *Checker) evalTable(cmd *syntax.Command) bool {
	c.tx.cache.add(tableOf(&cmd.Handle))
	block := cmd.Table
	if block == nil {
		return true
	}
	fillHandle(&block.Handle, &cmd.Handle)
	if cmd.Op == syntax.OpCreate {
		block.Chains, block.Sets, block.Objects, block.Flows = nil, nil, nil, nil
	}
	// nft makes commands of all that is in the block, in this order, so that a mistake in one does not hide those of the others.
	ok := true
	each := func(done bool) {
		ok = ok && done
		c.want, c.set = want{}, nil
	}
	for _, ch := range block.Chains {
		inherit(&ch.Handle, &block.Handle)
		each(c.decls.evalChain(ch))
	}
	for _, o := range block.Objects {
		fillHandle(&o.Handle, &block.Handle)
		each(c.decls.evalObject(o))
	}
	for _, s := range block.Sets {
		fillHandle(&s.Handle, &block.Handle)
		each(c.sets.evalSetDecl(s))
	}
	for _, f := range block.Flows {
		fillHandle(&f.Handle, &block.Handle)
		each(c.decls.evalFlowtable(f))
	}
	for _, ch := range block.Chains {
		each(c.evalRules(ch))
	}
	return ok
}

// evalRules checks the rules in the block of a chain, each by itself.
func (c *Checker) evalRules(ch *syntax.ChainDecl) bool {
	ok := true
	for _, r := range ch.Rules {
		r.Handle = &ch.Handle
		done := c.stmts.evalRule(r)
		if done && c.tx.placesRules {
			done = c.tx.placeRule(&syntax.Command{Op: syntax.OpAdd, Kind: syntax.KindRule, Handle: ch.Handle, Rule: r})
		}
		ok = ok && done
	}
	return ok
}

// elements evaluates elements of a set that are added, deleted or asked for.
func (c *Checker) elements(cmd *syntax.Command) bool {
	t := c.tx.cache.table(tableOf(&cmd.Handle))
	if t == nil {
		return c.tx.noTable()
	}
	set := t.set(cmd.Handle.Name)
	if set == nil {
		return c.tx.noSet(cmd.Handle.NameLoc, cmd.Handle.Name)
	}
	if set.Key == nil {
		return false
	}
	c.set = set
	k := set.Key.Info()
	c.expectType(k.Type, k.Bits)
	if !c.exprs.eval(&cmd.Elements) {
		return false
	}
	cmd.Set = set
	c.set = nil
	elements, ok := cmd.Elements.(*syntax.Set)
	if !ok || !isInterval(set.Flags) || isConcatInterval(set.Flags) {
		return true
	}
	existing := c.tx.existing(set)
	cmd.Begins = !existing.begun
	return c.spans.intervals(set, elements)
}

func (c *Checker) deletes(cmd *syntax.Command) bool {
	h := &cmd.Handle
	switch cmd.Kind {
	case syntax.KindElements:
		return c.elements(cmd)
	case syntax.KindTable:
		if h.Table != "" {
			c.tx.cache.remove(tableOf(h))
		}
		return true
	case syntax.KindRule:
		return !c.tx.placesRules || c.tx.dropRule(cmd)
	}
	t := c.tx.cache.table(tableOf(h))
	if t == nil {
		return true
	}
	switch cmd.Kind {
	case syntax.KindChain:
		if h.Chain != "" && t.hasChain(h.Chain) {
			t.chains[h.Chain] = &chain{gone: true}
		}
	case syntax.KindSet, syntax.KindMap:
		if h.Name != "" {
			t.sets[h.Name] = nil
			delete(t.members, h.Name)
		}
	case syntax.KindFlowtable:
		t.flows[h.Name] = false
	default:
		if kind, ok := objectKinds[cmd.Kind]; ok && h.Name != "" {
			t.objects[Object{kind, h.Name}] = false
		}
	}
	return true
}

func isLiteralSet(f nftables.SetFlags) bool {
	return !isMap(f) && f&nftables.SetAnonymous == 0
}

func isLiteralMap(f nftables.SetFlags) bool {
	return isMap(f) && f&nftables.SetAnonymous == 0
}

func isMeter(f nftables.SetFlags) bool {
	return f&(nftables.SetAnonymous|nftables.SetEval) == nftables.SetAnonymous|nftables.SetEval
}

var setKinds = map[syntax.Kind]func(nftables.SetFlags) bool{
	syntax.KindSet: isLiteralSet, syntax.KindMap: isLiteralMap, syntax.KindMeter: isMeter,
}

func (c *Checker) flushes(cmd *syntax.Command) bool {
	fits := setKinds[cmd.Kind]
	if fits == nil {
		return true
	}
	t, set := c.tx.namedSet(cmd, fits)
	if set == nil {
		return false
	}
	was := t.membersOf(set.Handle.Name)
	t.members[set.Handle.Name] = &members{sent: was.sent, made: was.made, begun: was.made}
	set.Elements = nil // nft does not even send those that the same transaction declares
	cmd.Set = set
	return true
}

func (c *Checker) lists(cmd *syntax.Command) bool {
	h := &cmd.Handle
	if fits := setKinds[cmd.Kind]; fits != nil {
		_, set := c.tx.namedSet(cmd, fits)
		return set != nil
	}
	switch cmd.Kind {
	case syntax.KindChains, syntax.KindRuleset, syntax.KindMeters, syntax.KindMaps, syntax.KindTables:
		return true
	case syntax.KindHooks:
		if h.Chain == "" {
			return true
		}
		if _, ok := hookNumber(h.Family, h.Chain); !ok {
			return c.tx.noChain()
		}
		return true
	}
	if h.Table == "" {
		return true
	}
	t := c.tx.cache.table(tableOf(h))
	if t == nil {
		return c.tx.noTable()
	}
	switch kind, isObject := objectKinds[cmd.Kind]; {
	case cmd.Kind == syntax.KindChain && !t.hasChain(h.Chain):
		return c.tx.noChain()
	case cmd.Kind == syntax.KindFlowtable && !t.hasFlow(h.Name):
		return c.tx.noFlowtable(h.NameLoc, h.Name)
	case isObject && !t.hasObject(Object{kind, h.Name}):
		return c.tx.noObject(h.NameLoc, h.Name)
	}
	return true
}
