package check

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// evalSetDecl checks the declaration of a set, with a name or without one.
func (c *setChecker) evalSetDecl(s *syntax.SetDecl) bool {
	if s.ID == 0 {
		s.ID = c.tx.nextID()
	}
	if s.Map && s.Data == nil && s.Object == 0 {
		s.Flags &^= nftables.SetMap // nft finds out by the type of the data
	}
	if s.Map && s.Data != nil && !isMap(s.Flags) || s.Object != 0 {
		s.Flags &^= nftables.SetMap
		if s.Object != 0 {
			s.Flags |= nftables.SetObject
		} else {
			s.Flags |= nftables.SetMap
		}
	}
	var twin *syntax.SetDecl
	if !isAnonymous(s) {
		t := c.tx.cache.table(tableOf(&s.Handle))
		if t == nil {
			return c.tx.noTable()
		}
		if twin = t.set(s.Handle.Name); twin == nil {
			t.addSet(s, c.cmd.Op == syntax.OpAdd)
		}
	}
	if !isInterval(s.Flags) && s.AutoMerge {
		if key, ok := s.Key.(*syntax.Concat); ok {
			for _, part := range key.Parts {
				c.typeOnly(part)
			}
			key.Type = syntax.TypeInvalid // which nft finds out later
		} else if s.Key != nil {
			c.typeOnly(s.Key)
		}
		return c.wrong("auto-merge only works with interval sets", s.Loc)
	}
	if !c.setTypes(s) {
		return false
	}
	if isTwin(twin, s) {
		return c.wrong("chainwalk does not support declaring "+s.Handle.Name+" twice in one transaction, "+
			"with other types or flags, for intervals", s.Loc)
	}
	if s.Timeout != 0 {
		s.Flags |= nftables.SetTimeout
	}
	if len(s.Stmts) > 1 {
		s.Flags |= nftables.SetExpr
	}
	if isAnonymous(s) {
		init := s.Elements.(*syntax.Set)
		if isInterval(init.Flags) && !isConcatInterval(init.Flags) {
			return c.spans.intervals(s, init)
		}
		return true
	}
	return c.declared(s)
}

// declared evaluates the elements that a set is declared with.
func (c *setChecker) declared(s *syntax.SetDecl) bool {
	c.set = s
	defer func() { c.set = nil }()
	init, _ := s.Elements.(*syntax.Set)
	if s.Elements != nil {
		k := s.Key.Info()
		c.expect(k.Type, k.Order, k.Bits, 0)
		if !c.exprs.eval(&s.Elements) {
			return false
		}
		var ok bool
		if init, ok = s.Elements.(*syntax.Set); !ok {
			return c.wrong(fmt.Sprintf("Set %s: Unexpected initial type %s, missing { }?", s.Handle.Name, kindOf(s.Elements)), loc(s.Elements))
		}
	}
	if isInterval(s.Flags) && !isConcatInterval(s.Flags) && init != nil {
		return c.spans.intervals(s, init)
	}
	return true
}

// setTypes finds out the types of keys and data.
func (c *setChecker) setTypes(s *syntax.SetDecl) bool {
	word := setWord(s.Flags)
	if s.Key == nil {
		return c.wrong("set definition does not specify key", s.Loc) // its type would say that it is a map
	}
	if !isAnonymous(s) && !c.typeOnly(s.Key) {
		return false
	}
	if s.Key.Info().Bits == 0 {
		return c.unqualified(s, s.Key, word)
	}
	if _, ok := s.Key.(*syntax.Concat); isInterval(s.Flags) && (ok || len(s.Key.Info().Type.Parts) > 0) {
		s.Flags |= nftables.SetConcat
	}
	if s.Flags&nftables.SetObject != 0 && s.Data == nil {
		s.Data = &syntax.Value{Common: syntax.Common{Type: syntax.TypeString, Order: syntax.HostOrder, Bits: objectNameBits}}
	}
	if s.Flags&nftables.SetMap == 0 {
		return true
	}
	if s.Data == nil {
		return c.wrong("map definition does not specify mapping data type", s.Loc)
	}
	if isAnonymous(s) {
		return true
	}
	if !c.typeOnly(s.Data) {
		return false
	}
	if k := s.Data.Info(); k.Bits == 0 && k.Type.ID != syntax.TypeVerdict.ID {
		return c.unqualified(s, s.Data, word)
	}
	return true
}

func (c *setChecker) unqualified(s *syntax.SetDecl, of syntax.Expr, word string) bool {
	hint := ""
	t := of.Info().Type
	if t.Bits == 0 {
		hint = `. Try "typeof expression" instead of "type datatype".`
	}
	return c.wrong(fmt.Sprintf("unqualified type %s specified in %s definition%s", t.Name, word, hint), s.Loc)
}

// typeOnly gives an expression behind "type" or "typeof" its type. It is no expression of a packet, so nothing has to be matched before it.
func (c *setChecker) typeOnly(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Value:
		if e.Bits == 0 && e.Type != nil {
			e.Bits, e.Order = e.Type.Bits, e.Type.Order
		}
	case *syntax.Concat:
		return c.typeConcat(e)
	case *syntax.Symbol:
		e.Type = syntax.TypeInvalid
	case *syntax.Payload:
		c.keys.typePayload(e)
		if e.Type.ID == syntax.TypeInteger.ID && len(e.Type.Parts) == 0 && e.Type.Bits == 0 {
			e.Type = syntax.Sized(e.Type, e.Bits)
		}
	case *syntax.Exthdr:
		if e.Field != nil {
			e.Type, e.Bits, e.Order, e.Offset = e.Field.Type, e.Field.Bits, e.Field.Order, e.Field.Offset
		}
		if e.Header != nil {
			e.RawType = e.Header.ExtType
		}
		if e.Present {
			e.Type, e.Bits = syntax.TypeBoolean, 8
		}
	case *syntax.Meta:
		e.Type, e.Bits, e.Order = syntax.MetaType(e.Key)
	case *syntax.CT:
		e.Type, e.Bits, e.Order = syntax.CTType(e.Key)
		if e.Key == expr.CTProtoSrc || e.Key == expr.CTProtoDst {
			e.Type = syntax.TypeInvalid // ports have one only behind a match of the transport protocol
		}
	case *syntax.RT:
		e.Type, e.Bits, e.Order = syntax.RTType(e.Key)
		if e.Key == syntax.RTNexthop4 && e.NFProto == 0 {
			e.Type, e.Bits = syntax.TypeInvalid, 0
		}
	case *syntax.Verdict:
		e.Type = syntax.TypeVerdict
	default:
		return c.typeRare(e)
	}
	return true
}

func (c *setChecker) typeRare(e syntax.Expr) bool {
	k := e.Info()
	switch e := e.(type) {
	case *syntax.Socket:
		k.Type, k.Bits, k.Order = syntax.SocketType(e.Key)
	case *syntax.Osf:
		k.Type, k.Bits, k.Order = syntax.TypeString, 128, syntax.HostOrder
	case *syntax.XFRM:
		if key := syntax.XFRMKeyOf(e.Key); key != nil {
			k.Type, k.Bits, k.Order = key.Type, key.Bits, key.Order
		}
	case *syntax.Fib:
		k.Type, k.Bits, k.Order = syntax.FibType(e.Result, e.Flags)
	case *syntax.Numgen, *syntax.Hash:
		k.Type, k.Bits, k.Order = syntax.Sized(syntax.TypeInteger, 32), 32, syntax.HostOrder
	default:
		return c.wrong(fmt.Sprintf("chainwalk does not support typeof of %s expressions", kindOf(e)), k.Loc)
	}
	return true
}

// typeConcat types the parts of a concatenation that a set is declared with.
func (c *setChecker) typeConcat(e *syntax.Concat) bool {
	var types []*syntax.Datatype
	e.Bits, e.Type = 0, syntax.TypeInvalid
	for _, part := range e.Parts {
		if isPlainCTAddress(part) {
			return c.wrong("specify either ip or ip6 for address matching", loc(part))
		}
		if !c.typeOnly(part) {
			return false
		}
		k := part.Info()
		if k.Type.Bits == 0 && k.Bits == 0 {
			return c.wrong(fmt.Sprintf("can not use variable sized data types (%s) in concat expressions", k.Type.Name), k.Loc, e.Loc)
		}
		e.Bits += syntax.Padded(k.Bits)
		types = append(types, k.Type)
	}
	e.Type = syntax.ConcatType(types...)
	return true
}
