package parse

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// setParser takes declarations of sets and maps.
type setParser struct {
	*stream
	blocks   *blockParser
	amounts  *amountParser
	exprs    *exprParser
	elements *elementParser
	stmts    *stmtParser
}

// setBraces takes "{", a set or map, and "}".
func (p *setParser) setBraces(h syntax.Handle, isMap, inTable bool) *syntax.SetDecl {
	s := &syntax.SetDecl{Handle: h, Map: isMap}
	if isMap {
		s.Flags = nftables.SetMap
	}
	s.Loc = p.blocks.braces(inTable, scopeBase, func() { p.setBlock(s) })
	return s
}

func (p *setParser) setBlock(s *syntax.SetDecl) {
	for {
		t := p.peek()
		if p.blocks.statement(t) {
			continue
		}
		switch t {
		case tokRBrace, tokBad:
			return
		case tokType:
			p.take()
			key, data := s.Key, s.Data
			p.setType(s)
			p.separator(p.moreTypes(s)...)
			if p.bad {
				s.Key, s.Data = key, data
			}
			p.close(scopeType)
		case tokTypeof:
			p.take()
			key, data := s.Key, s.Data
			p.setTypeof(s)
			p.separator(p.moreTypeof(s)...)
			if p.bad {
				s.Key, s.Data = key, data
			}
		case tokElements:
			p.take()
			p.expect(tokEquals)
			e := p.elements.elements()
			p.keep(func() { s.Elements = e })
		case tokAutoMerge:
			if s.Map {
				p.unexpected(anything...)
				continue
			}
			p.take()
			s.AutoMerge = true
		case tokCounter, tokLimit, tokQuota, tokCt:
			p.stmts.statefulStatements(&s.Stmts)
			p.separator(anything...)
		default:
			p.setOption(s, t)
		}
	}
}

func (p *setParser) setOption(s *syntax.SetDecl, t token) {
	switch t {
	case tokFlags:
		p.take()
		flags := p.setFlags()
		if s.Map {
			flags |= s.Flags // in a set the last ones hold alone
		}
		p.separator(tokComma)
		if !p.bad {
			s.Flags = flags
		}
	case tokTimeout, tokGcInterval:
		if t == tokGcInterval && s.Map {
			p.unexpected(anything...)
			return
		}
		p.take()
		if t == tokTimeout {
			s.Timeout = p.amounts.time()
		} else {
			s.GCInterval = p.amounts.time()
		}
		p.separator()
	case tokPolicy:
		p.take()
		p.setPolicy(s)
		p.separator()
	case tokSize:
		p.take()
		s.Size = uint32(p.number())
		p.separator()
	case tokComment:
		p.blocks.blockComment(&s.Comment, &s.HasComment, true)
	default:
		p.unexpected(anything...)
	}
}

// moreTypes is what may follow the type of a set beside a separator.
func (p *setParser) moreTypes(s *syntax.SetDecl) []token {
	if s.Data == nil && s.Object == 0 && !s.Map {
		return []token{tokDot}
	}
	return nil
}

// moreTypeof is the same behind typeof.
func (p *setParser) moreTypeof(s *syntax.SetDecl) []token {
	if !s.Map || s.IntervalData {
		return []token{tokDot}
	}
	return nil
}

func (p *setParser) setFlags() (flags nftables.SetFlags) {
	for {
		switch p.peek() {
		case tokConstant:
			flags |= nftables.SetConstant
		case tokInterval:
			flags |= nftables.SetInterval
		case tokTimeout:
			flags |= nftables.SetTimeout
		case tokDynamic:
			flags |= nftables.SetEval
		default:
			p.unexpected(tokConstant, tokInterval, tokTimeout, tokDynamic)
			return flags
		}
		p.take()
		if !p.accept(tokComma) {
			return flags
		}
	}
}

func (p *setParser) setPolicy(s *syntax.SetDecl) {
	switch p.peek() {
	case tokPerformance:
		p.take()
		s.Policy = 0
	case tokMemory:
		p.take()
		s.Policy = 1
	default:
		p.unexpected(tokPerformance, tokMemory)
	}
	p.close(scopePolicy)
	s.PolicyGiven = true
}

// objectsOfMaps are the objects that a map may give.
var objectsOfMaps = map[token]expr.ObjectType{
	tokCounter: expr.ObjectCounter, tokQuota: expr.ObjectQuota, tokLimit: expr.ObjectLimit, tokSecmark: expr.ObjectSecmark,
	tokSynproxy: expr.ObjectSynproxy,
}

// setType takes the types of the key and, of a map, of the data.
func (p *setParser) setType(s *syntax.SetDecl) {
	key := p.dataType()
	if s.Map {
		p.expect(tokColon, tokDot)
		interval := p.accept(tokInterval)
		t := p.peek()
		if kind, ok := objectsOfMaps[t]; ok && !interval {
			p.take()
			p.close(opens[t])
			s.Object = kind
			s.Flags |= nftables.SetObject
		} else {
			s.Data = p.dataType()
			if p.peek() != tokNewline && p.peek() != tokSemicolon {
				p.unexpected(tokNewline, tokSemicolon, tokDot)
			}
			if interval && s.Data != nil {
				s.IntervalData = true
			}
		}
	}
	if !p.bad {
		s.Key, s.Typeof = key, false
	}
}

// dataType takes names of types with dots between them.
func (p *setParser) dataType() syntax.Expr {
	from := p.here()
	c := &syntax.Concat{}
	var parts []*syntax.Datatype
	for {
		switch p.peek() {
		case tokString, tokMark, tokDscp, tokEcn, tokClassid, tokTime:
			p.take()
		case tokBad:
			return nil
		default:
			p.unexpected(anything...)
			return nil
		}
		t := syntax.TypeNamed(p.cur.text)
		if t == nil {
			p.wrong("unknown datatype "+p.cur.text, p.last)
			return nil
		}
		parts = append(parts, t)
		v := &syntax.Value{}
		v.Loc, v.Type, v.Order, v.Bits = p.last, t, t.Order, t.Bits
		c.Parts = append(c.Parts, v)
		if !p.accept(tokDot) {
			break
		}
	}
	if len(parts) == 1 {
		return c.Parts[0]
	}
	c.Loc, c.Type = p.since(from), syntax.ConcatType(parts...)
	c.Bits = c.Type.Bits
	return c
}

// setTypeof takes the expressions whose types the key and the data have.
func (p *setParser) setTypeof(s *syntax.SetDecl) {
	key := p.typeofExpr("primary expression")
	if s.Map {
		p.expect(tokColon, tokDot)
		s.IntervalData = p.accept(tokInterval)
		if s.IntervalData {
			s.Data = p.typeofExpr("primary expression")
		} else {
			s.Data = p.typeofExpr("map data")
		}
	}
	if !p.bad {
		s.Key, s.Typeof = key, true
	}
}

// typeofExpr takes expressions with dots between them. The first one must be such as nft can keep with a set; kind is what it is called if
// there is no other.
func (p *setParser) typeofExpr(kind string) syntax.Expr {
	from := p.here()
	first := p.exprs.primary()
	if s, ok := first.(*syntax.Symbol); ok && kind == "map data" && s.Text == "verdict" {
		return &syntax.Verdict{Common: syntax.Common{Loc: s.Loc, Type: syntax.TypeVerdict}, Code: expr.Accept}
	}
	if p.peek() == tokDot {
		kind = "primary expression"
	}
	name := ""
	switch first.(type) {
	case *syntax.Symbol:
		name = "symbol"
	case *syntax.Variable:
		name = "variable"
	case *syntax.Binop:
		name = "binop"
	}
	if name != "" {
		p.wrong(kind+" type '"+name+"' lacks typeof serialization", p.since(from))
	}
	if p.peek() != tokDot {
		return first
	}
	parts := p.exprs.beginParts(first)
	for p.accept(tokDot) {
		dot := p.last
		p.exprs.addPart(parts, dot, p.exprs.primary())
	}
	return p.exprs.endParts(parts, from)
}
