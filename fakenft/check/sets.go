package check

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

func isAnonymous(s *syntax.SetDecl) bool { return s.Flags&nftables.SetAnonymous != 0 }

func isInterval(f nftables.SetFlags) bool { return f&nftables.SetInterval != 0 }

func isConcatInterval(f nftables.SetFlags) bool { return f&nftables.SetConcat != 0 }

func isMap(f nftables.SetFlags) bool { return f&(nftables.SetMap|nftables.SetObject) != 0 }

// setWord is "set" or "map".
func setWord(f nftables.SetFlags) string {
	if isMap(f) {
		return "map"
	}
	return "set"
}

// keyLike is a key of the type that an expression has.
func keyLike(e syntax.Expr) syntax.Expr {
	k := *e.Info()
	if concat, ok := e.(*syntax.Concat); ok {
		key := &syntax.Concat{Common: k}
		for _, part := range concat.Parts {
			key.Parts = append(key.Parts, keyLike(part))
		}
		return key
	}
	return &syntax.Value{Common: k}
}

// setChecker evaluates sets and maps: those in braces, those that are looked up in, and declarations.
type setChecker struct {
	*notes
	*state
	*nodes
	tx    *transaction
	exprs *exprChecker
	keys  *keyChecker
	spans *intervalChecker
}

// implicitSet declares a set without a name that a rule looks something up in.
func (c *setChecker) implicitSet(name string, key, data syntax.Expr, elements *syntax.Set, flags nftables.SetFlags) *syntax.SetRef {
	set := &syntax.SetDecl{
		Loc: elements.Loc, Flags: nftables.SetAnonymous | elements.Flags | flags, Key: key, Data: data, Elements: elements, ID: c.tx.nextID(),
	}
	set.Map = isMap(set.Flags)
	of := c.rule.Handle
	set.Handle = syntax.Handle{
		Family: of.Family, FamilyGiven: of.FamilyGiven, Table: of.Table, TableLoc: of.TableLoc, Name: name, NameLoc: elements.Loc,
	}
	set.AutoMerge = isInterval(set.Flags)
	c.evalSetDecl(set)
	return refTo(set, elements.Loc)
}

func refTo(set *syntax.SetDecl, at syntax.Loc) *syntax.SetRef {
	ref := &syntax.SetRef{Name: set.Handle.Name, Set: set}
	if set.Key != nil {
		ref.Common = *set.Key.Info()
	}
	ref.Loc = at
	return ref
}

// evalSetRef finds the set of a name.
func (c *setChecker) evalSetRef(e *syntax.SetRef) bool {
	if e.Set != nil {
		return true
	}
	t := c.tx.cache.table(tableOf(&c.cmd.Handle))
	if t == nil {
		return c.tx.noTable()
	}
	set := t.set(e.Name)
	if set == nil || set.Key == nil {
		return c.tx.noSet(e.Loc, e.Name)
	}
	at := e.Loc
	*e = *refTo(set, at)
	return true
}

// evalSet evaluates what stands in braces. A single value that no map or set wants becomes that value.
func (c *setChecker) evalSet(at *syntax.Expr, e *syntax.Set) bool {
	var items, later []syntax.Expr
	same := true // the items so far are those of the set, so that there is no list of them yet
	own := func(before int) {
		if same {
			items, same = append(make([]syntax.Expr, 0, len(e.Items)), e.Items[:before]...), false
		}
	}
	var item syntax.Expr // one for all, since it does not stay on the stack
	for i := range e.Items {
		item = e.Items[i]
		if !c.exprs.eval(&item) {
			return false
		}
		if m, ok := item.(*syntax.Mapping); ok {
			if inner, ok := elementOf(item).Key.(*syntax.Set); ok {
				own(i)
				for _, key := range inner.Items {
					later = append(later, &syntax.Mapping{Common: m.Common, Key: key, Data: syntax.Clone(m.Data)})
				}
				continue
			}
		}
		inner, ok := c.member(item)
		if !ok {
			return false
		}
		if inner != nil {
			own(i)
			e.Flags |= inner.Flags
			items = append(items, inner.Items...)
			continue
		}
		e.Flags |= intervalFlags(item)
		if item != e.Items[i] {
			own(i)
		}
		if !same {
			items = append(items, item)
		}
	}
	if isInterval(e.Flags) || c.set != nil && isInterval(c.set.Flags) {
		own(len(e.Items)) // which is put in order, and those who have the items keep theirs
	}
	for _, item := range later {
		e.Flags |= intervalFlags(item)
	}
	if !same {
		items = append(items, later...)
		e.Items = items
	}
	if c.set != nil {
		e.Flags |= c.set.Flags & nftables.SetConcat
	} else if len(e.Items) == 1 {
		if el, ok := e.Items[0].(*syntax.Element); ok {
			switch el.Key.(type) {
			case *syntax.Prefix, *syntax.Range, *syntax.Value:
				*at = el.Key
				return true
			}
		}
	}
	e.Flags |= nftables.SetConstant
	e.Type, e.Order, e.Bits = c.want.typ, c.want.order, c.want.bits
	return true
}

// member says whether an item may be in a set; inner is the set that it is itself, whose members are those of the outer one.
func (c *setChecker) member(item syntax.Expr) (inner *syntax.Set, ok bool) {
	if set, isSet := item.(*syntax.Set); isSet {
		return set, true
	}
	if el := elementOf(item); el != nil {
		switch key := el.Key.(type) {
		case *syntax.SetRef:
			return nil, c.wrong("Set reference cannot be part of another set", loc(item))
		case *syntax.Set:
			return key, true
		}
	}
	if !isConstant(item) {
		return nil, c.wrong("Set member is not constant", loc(item))
	}
	return nil, true
}

// intervalFlags are the flags of a set that has an item which is not one value.
func intervalFlags(item syntax.Expr) nftables.SetFlags {
	if isSingleton(item) {
		return 0
	}
	if el := elementOf(item); el != nil {
		if _, ok := el.Key.(*syntax.Concat); ok {
			return nftables.SetInterval | nftables.SetConcat
		}
	}
	return nftables.SetInterval
}

// elementOf is the element of an item of a set: itself, or the key of a mapping.
func elementOf(item syntax.Expr) *syntax.Element {
	if m, ok := item.(*syntax.Mapping); ok {
		item = m.Key
	}
	el, _ := item.(*syntax.Element)
	return el
}

func (c *setChecker) evalElement(e *syntax.Element) bool {
	if c.set != nil {
		if !c.elementStmts(e) {
			return false
		}
		k := c.set.Key.Info()
		c.expect(k.Type, k.Order, k.Bits, 0)
		c.want.key, _ = c.set.Key.(*syntax.Concat)
	}
	if !c.exprs.eval(&e.Key) {
		return false
	}
	if c.set != nil && c.set.Flags&(nftables.SetAnonymous|nftables.SetInterval) == 0 {
		keys := []syntax.Expr{e.Key}
		if concat, ok := e.Key.(*syntax.Concat); ok {
			keys = concat.Parts
		}
		for _, key := range keys {
			_, prefix := key.(*syntax.Prefix)
			_, ranges := key.(*syntax.Range)
			if prefix || ranges || isWildcard(key) {
				return c.wrong(fmt.Sprintf(
					"You must add 'flags interval' to your %s declaration if you want to add %s elements", setWord(c.set.Flags), kindOf(key)),
					loc(key))
			}
		}
	}
	k := e.Key.Info()
	e.Type, e.Order, e.Bits = k.Type, k.Order, k.Bits
	return true
}

// elementStmts compares the statements of an element with those of its set.
func (c *setChecker) elementStmts(e *syntax.Element) bool {
	if len(e.Stmts) == 0 {
		return true
	}
	word := setWord(c.set.Flags)
	switch {
	case len(c.set.Stmts) > 0 && len(e.Stmts) != len(c.set.Stmts):
		return c.wrong(fmt.Sprintf("number of statements mismatch, set expects %d but element has %d", len(c.set.Stmts), len(e.Stmts)), e.Loc)
	case len(c.set.Stmts) == 0:
		if c.set.Flags&nftables.SetEval == 0 {
			return c.wrong("missing statement in "+word+" declaration", e.Stmts[0].Place())
		}
		return true
	}
	for i, s := range e.Stmts {
		if stmtName(s) != stmtName(c.set.Stmts[i]) {
			return c.wrong(fmt.Sprintf("statement mismatch, element expects %s, but %s has type %s",
				stmtName(s), word, stmtName(c.set.Stmts[i])), s.Place())
		}
	}
	return true
}

func (c *setChecker) evalMapping(e *syntax.Mapping) bool {
	set := c.set
	if set == nil {
		return c.wrong("mapping outside of map context", e.Loc)
	}
	if !isMap(set.Flags) {
		at := set.Loc
		if !at.Written() {
			at.In = syntax.Netlink // the kernel's set
		}
		return c.wrong("set is not a map", at)
	}
	c.expectType(set.Key.Info().Type, set.Key.Info().Bits)
	if !c.exprs.eval(&e.Key) {
		return false
	}
	if !isConstant(e.Key) {
		return c.wrong("Key must be a constant", loc(e.Key))
	}
	if set.Data != nil {
		k := set.Data.Info()
		c.expect(k.Type, k.Order, k.Bits, 0)
	}
	if !c.exprs.eval(&e.Data) {
		return false
	}
	if !isConstant(e.Data) {
		return c.wrong("Value must be a constant", loc(e.Data))
	}
	if isAnonymous(set) && hasInterval(e.Data) {
		set.IntervalData = true
	}
	if !set.IntervalData && !isSingleton(e.Data) {
		return c.wrong("Value must be a singleton", loc(e.Data))
	}
	k := e.Key.Info()
	e.Type, e.Order, e.Bits = k.Type, k.Order, k.Bits
	return true
}

func hasInterval(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Range, *syntax.Prefix:
		return true
	case *syntax.Concat:
		for _, part := range e.Parts {
			if hasInterval(part) {
				return true
			}
		}
	}
	return false
}

// evalMap looks the value of a key up.
func (c *setChecker) evalMap(at *syntax.Expr, e *syntax.Map) bool {
	wanted := c.want
	if !c.mapKey(e) {
		return false
	}
	if set, ok := e.Mappings.(*syntax.Set); ok {
		if !c.implicitMap(e, set, wanted) {
			return false
		}
	} else if !c.namedMap(e) {
		return false
	}
	return c.mapTypes(e)
}

// mapKey evaluates the key that is looked up.
func (c *setChecker) mapKey(e *syntax.Map) bool {
	keys := []syntax.Expr{e.Key}
	if concat, ok := e.Key.(*syntax.Concat); ok {
		keys = concat.Parts
	}
	for _, key := range keys {
		if isPlainCTAddress(key) {
			return c.wrong("specify either ip or ip6 for address matching", loc(key))
		}
	}
	c.expectType(nil, 0)
	if !c.exprs.eval(&e.Key) {
		return false
	}
	if isConstant(e.Key) {
		return c.wrong("Map expression can not be constant", loc(e.Key))
	}
	return true
}

func (c *setChecker) implicitMap(e *syntax.Map, elements *syntax.Set, wanted want) bool {
	if wanted.typ == nil {
		return c.wrong("chainwalk does not support maps here", e.Loc)
	}
	var data syntax.Expr = &syntax.Value{Common: syntax.Common{Type: wanted.typ, Order: wanted.order, Bits: wanted.bits}}
	if wanted.typ == syntax.TypeVerdict {
		data = &syntax.Verdict{Common: syntax.Common{Type: syntax.TypeVerdict}}
	} else if wanted.typ == syntax.TypeInteger {
		data.Info().Type = syntax.Sized(syntax.TypeInteger, wanted.bits)
	}
	ref := c.implicitSet("__map%d", c.wantedKey(e.Loc), data, elements, nftables.SetMap)
	e.Mappings = ref
	outer := c.set
	c.set = ref.Set
	defer func() { c.set = outer }()
	if !c.exprs.eval(&ref.Set.Elements) {
		return false
	}
	init := ref.Set.Elements.(*syntax.Set)
	if isInterval(init.Flags) && !isConcatInterval(init.Flags) && !c.spans.intervals(ref.Set, init) {
		return false
	}
	key := ref.Set.Key.Info()
	c.expectType(key.Type, key.Bits)
	if !c.exprs.transfer(&e.Key, &e.Mappings) {
		return false
	}
	key.Bits = c.want.bits
	ref.Set.Flags |= init.Flags
	return true
}

func (c *setChecker) namedMap(e *syntax.Map) bool {
	if !c.exprs.eval(&e.Mappings) {
		return false
	}
	ref, ok := e.Mappings.(*syntax.SetRef)
	if !ok || ref.Set.Flags&nftables.SetMap == 0 {
		return c.wrong("Expression is not a map", loc(e.Mappings))
	}
	return true
}

func (c *setChecker) mapTypes(e *syntax.Map) bool {
	set := e.Mappings.(*syntax.SetRef).Set
	if key := set.Key.Info().Type; !sameType(e.Key.Info().Type, key) {
		return c.wrong(fmt.Sprintf("datatype mismatch, map expects %s, mapping expression has type %s", key.Desc, e.Key.Info().Type.Desc),
			loc(e.Mappings), loc(e.Key))
	}
	if set.Data != nil {
		at := e.Loc
		e.Common = *set.Data.Info()
		e.Loc = at
	}
	return !isInterval(set.Flags) || c.exprs.reorder(&e.Key, syntax.BigEndian)
}

// isTwin says whether a set with intervals was declared otherwise by the same transaction. The kernel refuses the second one, but nft mixes
// the elements of both before, so that it says other things.
func isTwin(first, second *syntax.SetDecl) bool {
	if first == nil || first.Key == nil || first.Handle.Number != 0 || second.Elements == nil || !isInterval(second.Flags) ||
		isConcatInterval(second.Flags) {
		return false
	}
	const differ = nftables.SetInterval | nftables.SetMap | nftables.SetObject
	return first.Flags&differ != second.Flags&differ || !sameType(first.Key.Info().Type, second.Key.Info().Type)
}
