package check

import (
	"slices"

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
		return cmd.Handle.Table == "" || c.cache.table(tableOf(&cmd.Handle)) != nil || c.noTable()
	case syntax.OpFlush:
		return c.flushes(cmd)
	case syntax.OpRename:
		t := c.cache.table(tableOf(&cmd.Handle))
		switch {
		case t == nil:
			return c.noTable()
		case !t.hasChain(cmd.Handle.Chain):
			return c.noChain()
		}
		return true
	case syntax.OpDescribe:
		if _, word := cmd.Describe.(*syntax.Symbol); !word {
			return c.typeOnly(cmd.Describe)
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
		ok := c.evalSetDecl(cmd.Set)
		if cmd.Op == syntax.OpCreate {
			cmd.Set.Elements = nil // nft forgets what is within something that it creates
		}
		return ok
	case syntax.KindRule:
		fillHandle(&cmd.Rule.Handle, &cmd.Handle)
		return c.evalRule(cmd.Rule) && (!c.placesRules || c.placeRule(cmd))
	case syntax.KindChain:
		if cmd.Chain != nil {
			fillHandle(&cmd.Chain.Handle, &cmd.Handle)
		}
		if cmd.Chain != nil && cmd.Op == syntax.OpCreate {
			cmd.Chain.Rules = nil
		}
		ok := c.evalChain(cmd.Chain)
		if cmd.Chain != nil {
			return c.evalRules(cmd.Chain) && ok
		}
		return ok
	case syntax.KindTable:
		return c.evalTable(cmd)
	case syntax.KindFlowtable:
		fillHandle(&cmd.Flow.Handle, &cmd.Handle)
		return c.evalFlowtable(cmd.Flow)
	}
	if cmd.Object != nil {
		fillHandle(&cmd.Object.Handle, &cmd.Handle)
		return c.evalObject(cmd.Object)
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
	if h.Position == 0 {
		h.Position, h.PositionLoc = from.Position, from.PositionLoc
	}
	if h.Index == 0 {
		h.Index, h.IndexLoc = from.Index, from.IndexLoc
	}
}

func (c *Checker) evalTable(cmd *syntax.Command) bool {
	c.cache.add(tableOf(&cmd.Handle))
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
		each(c.evalChain(ch))
	}
	for _, o := range block.Objects {
		fillHandle(&o.Handle, &block.Handle)
		each(c.evalObject(o))
	}
	for _, s := range block.Sets {
		fillHandle(&s.Handle, &block.Handle)
		each(c.evalSetDecl(s))
	}
	for _, f := range block.Flows {
		fillHandle(&f.Handle, &block.Handle)
		each(c.evalFlowtable(f))
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
		inherit(&r.Handle, &ch.Handle)
		done := c.evalRule(r)
		if done && c.placesRules {
			done = c.placeRule(&syntax.Command{Op: syntax.OpAdd, Kind: syntax.KindRule, Handle: r.Handle, Rule: r})
		}
		ok = ok && done
	}
	return ok
}

func (c *Checker) evalFlowtable(f *syntax.FlowtableDecl) bool {
	t := c.cache.table(tableOf(&c.cmd.Handle))
	if t == nil {
		return c.noTable()
	}
	t.flows[f.Handle.Name] = true
	if f.Hook == nil || f.Hook.Hook == "" {
		return true
	}
	number, ok := hookNumber(nftables.Netdev, f.Hook.Hook)
	if !ok {
		return c.wrong("invalid hook "+f.Hook.Hook, f.Loc)
	}
	f.Hook.HookNumber = number
	if f.Hook.Priority != nil {
		said := loc(f.Hook.Priority)
		if !c.evalPriority(f.Hook, nftables.Netdev) {
			return c.wrong("invalid priority expression "+priorityKind(f.Hook.Priority)+".", said)
		}
	}
	if f.Hook.Devices != nil {
		f.Hook.DeviceNames = deviceNames(f.Hook.Devices)
	}
	return true
}

func (c *Checker) evalObject(o *syntax.ObjectDecl) bool {
	t := c.cache.table(tableOf(&c.cmd.Handle))
	if t == nil {
		return c.noTable()
	}
	t.objects[Object{o.Type, o.Handle.Name}] = true
	switch o.Type {
	case expr.ObjectCTExpect:
		for _, name := range []string{"protocol", "dport", "timeout", "size"} {
			if optionOf(o, name) == "" {
				return c.wrong("missing options", o.Loc)
			}
		}
	case expr.ObjectCTTimeout:
		known, state := timeoutStates[optionOf(o, "protocol")], 0
		for _, option := range o.Options {
			if option[0] == "protocol" || option[0] == "l3proto" {
				continue
			}
			if !slices.Contains(known, option[0]) {
				at := o.Loc
				if state < len(o.States) {
					at = o.States[state]
				}
				return c.wrong("invalid state for this protocol", at)
			}
			state++
		}
	}
	return true
}

// timeoutStates are the states of a connection that a ct timeout can be about.
var timeoutStates = map[string][]string{
	"tcp": {
		"syn_sent", "syn_recv", "established", "fin_wait", "close_wait", "last_ack", "time_wait", "close", "retrans", "unack",
	},
	"udp": {"unreplied", "replied"},
}

// optionOf is the value of an option; "" if it is not there.
func optionOf(o *syntax.ObjectDecl, name string) string {
	for _, option := range o.Options {
		if option[0] == name {
			return option[1]
		}
	}
	return ""
}

// elements evaluates elements of a set that are added, deleted or asked for.
func (c *Checker) elements(cmd *syntax.Command) bool {
	t := c.cache.table(tableOf(&cmd.Handle))
	if t == nil {
		return c.noTable()
	}
	set := t.set(cmd.Handle.Name)
	if set == nil {
		return c.noSet(cmd.Handle.NameLoc, cmd.Handle.Name)
	}
	if set.Key == nil {
		return false
	}
	c.set = set
	k := set.Key.Info()
	c.expectType(k.Type, k.Bits)
	if !c.eval(&cmd.Elements) {
		return false
	}
	cmd.Set = set
	c.set = nil
	elements, ok := cmd.Elements.(*syntax.Set)
	if !ok || !isInterval(set.Flags) || isConcatInterval(set.Flags) {
		return true
	}
	cmd.Set = new(*set)
	if have := c.existing(set).items(); set.Elements == nil && len(have) > 0 {
		cmd.Set.Elements = &syntax.Set{Items: have} // so that compile does not say again that its first interval does not begin at 0
	}
	return c.intervals(set, elements) && c.send(cmd, set, elements)
}

// send puts elements that are added to a set of intervals of the same transaction among those that the set is sent with. That is why create
// says of them that they exist, and why a mistake in them is told twice.
func (c *Checker) send(cmd *syntax.Command, set *syntax.SetDecl, elements *syntax.Set) bool {
	create := cmd.Op == syntax.OpCreate
	declared, sent := c.sent[set]
	if !sent || cmd.Op != syntax.OpAdd && !create || set.AutoMerge && !create {
		return true
	}
	all := &syntax.Set{Common: elements.Common}
	if have, ok := set.Elements.(*syntax.Set); ok {
		*all = *have
	}
	if declared < 0 {
		declared = len(all.Items)
		c.sent[set] = declared
	}
	if create {
		elements.Items = append(elements.Items, all.Items[:declared]...) // which nft says again
		sortRanges(elements.Items)
	}
	all.Items = append(slices.Clip(all.Items), elements.Items...)
	set.Elements = all
	if cmd.Set.Elements == nil {
		cmd.Set.Elements = all // so that compile does not say again that its first interval does not begin at 0
	}
	return true
}

func (c *Checker) deletes(cmd *syntax.Command) bool {
	h := &cmd.Handle
	switch cmd.Kind {
	case syntax.KindElements:
		return c.elements(cmd)
	case syntax.KindTable:
		if h.Table != "" {
			c.cache.remove(tableOf(h))
		}
		return true
	case syntax.KindRule:
		return !c.placesRules || c.dropRule(cmd)
	}
	t := c.cache.table(tableOf(h))
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

// namedSet finds the set, or with isMap the map, of a command; there are no others.
func (c *Checker) namedSet(cmd *syntax.Command, fits func(nftables.SetFlags) bool) (*table, *syntax.SetDecl) {
	t := c.cache.table(tableOf(&cmd.Handle))
	if t == nil {
		c.noTable()
		return nil, nil
	}
	set := t.set(cmd.Handle.Name)
	switch {
	case set == nil:
		c.noSet(cmd.Handle.NameLoc, cmd.Handle.Name)
		return nil, nil
	case !fits(set.Flags):
		c.wrong(notFound, cmd.Handle.NameLoc)
		return nil, nil
	}
	return t, set
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
	t, set := c.namedSet(cmd, fits)
	if set == nil {
		return false
	}
	t.members[set.Handle.Name] = &members{}
	set.Elements = nil // nft does not even send those that the same transaction declares
	cmd.Set = set
	return true
}

func (c *Checker) lists(cmd *syntax.Command) bool {
	h := &cmd.Handle
	if fits := setKinds[cmd.Kind]; fits != nil {
		_, set := c.namedSet(cmd, fits)
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
			return c.noChain()
		}
		return true
	}
	if h.Table == "" {
		return true
	}
	t := c.cache.table(tableOf(h))
	if t == nil {
		return c.noTable()
	}
	switch kind, isObject := objectKinds[cmd.Kind]; {
	case cmd.Kind == syntax.KindChain && !t.hasChain(h.Chain):
		return c.noChain()
	case cmd.Kind == syntax.KindFlowtable && !t.hasFlow(h.Name):
		return c.noFlowtable(h.NameLoc, h.Name)
	case isObject && !t.hasObject(Object{kind, h.Name}):
		return c.noObject(h.NameLoc, h.Name)
	}
	return true
}
