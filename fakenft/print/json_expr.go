package print

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// jsonExprPrinter prints expressions as JSON.
type jsonExprPrinter struct {
	*buffer
	*Options
	text   *values
	values *jsonValues
	order  *sorter
	stmts  *jsonStmtPrinter
}

func (p *jsonExprPrinter) expr(e syntax.Expr) {
	switch e := e.(type) {
	case *syntax.Value:
		p.values.value(e)
	case *syntax.Payload:
		p.payload(e)
	case *syntax.Meta:
		p.str(`{"meta": {"key": "`)
		p.str(metaName(e.Key))
		p.str(`"}}`)
	case *syntax.CT:
		p.ct(e.Key, e.Dir)
	case *syntax.Concat:
		p.str(`{"concat": `)
		p.list(e.Parts)
		p.b = append(p.b, '}')
	case *syntax.List:
		p.flags(e.Items)
	case *syntax.Element:
		p.element(e)
	case *syntax.Mapping:
		p.b = append(p.b, '[')
		p.expr(e.Key)
		p.str(", ")
		p.expr(e.Data)
		p.b = append(p.b, ']')
	case *syntax.Verdict:
		p.verdict(e)
	case *syntax.SetRef:
		p.setRef(e)
	case *syntax.Set:
		p.inline(e, nil)
	case *syntax.Map:
		p.mapping(e)
	case *syntax.Prefix:
		p.str(`{"prefix": {"addr": `)
		p.expr(e.Of)
		p.integer("len", uint64(e.Len))
		p.str("}}")
	case *syntax.Range:
		p.rangeOf(e)
	case *syntax.Catchall:
		p.str(`"*"`)
	case *syntax.Unary:
		p.expr(e.Of)
	default:
		p.rarer(e)
	}
}

func (p *jsonExprPrinter) rarer(e syntax.Expr) {
	switch e := e.(type) {
	case *syntax.Binop:
		p.str(`{"`)
		p.str(binarySigns[e.Op])
		p.str(`": [`)
		p.expr(e.Left)
		p.str(", ")
		p.expr(e.Right)
		p.str("]}")
	case *syntax.Symbol:
		p.jsonStr(e.Text)
	case *syntax.Variable:
		p.expr(e.To)
	case *syntax.Relational:
		p.relational(e)
	case *syntax.FlagCmp:
		p.flagCmp(e)
	case *syntax.Exthdr:
		p.exthdr(e)
	case *syntax.Fib:
		p.fib(e)
	case *syntax.Numgen:
		p.str(`{"numgen": {"mode": "`)
		p.str(numgenMode(e))
		p.b = append(p.b, '"')
		p.integer("mod", uint64(e.Modulus))
		p.integer("offset", uint64(e.Offset))
		p.str("}}")
	case *syntax.Hash:
		p.hash(e)
	default:
		p.ofHost(e)
	}
}

// ofHost is an expression of what the host knows of a packet.
func (p *jsonExprPrinter) ofHost(e syntax.Expr) {
	switch e := e.(type) {
	case *syntax.RT:
		name, family := rtName(e.Key)
		p.str(`{"rt": {"key": "`)
		p.str(name)
		p.b = append(p.b, '"')
		if family != "" {
			p.property("family", family)
		}
		p.str("}}")
	case *syntax.Socket:
		k := syntax.SocketKeyOf(e.Key)
		if k == nil {
			unsupported("the key %d of socket", e.Key)
		}
		p.str(`{"socket": {"key": "`)
		p.str(k.Name)
		p.b = append(p.b, '"')
		if e.Key == syntax.SocketCgroupv2 {
			p.integer("level", uint64(e.Level))
		}
		p.str("}}")
	case *syntax.Osf:
		p.str(`{"osf": {"key": "`)
		p.str(osfKey(e))
		p.b = append(p.b, '"')
		if int(e.TTL) < len(osfTTL) && e.TTL != 0 {
			p.property("ttl", osfTTL[e.TTL])
		}
		p.str("}}")
	case *syntax.XFRM:
		name, family := xfrmName(e.Key)
		p.str(`{"ipsec": {"key": "`)
		p.str(name)
		p.b = append(p.b, '"')
		if family != "" {
			p.property("family", family)
		}
		p.property("dir", xfrmDirs[e.Dir&1])
		p.integer("spnum", uint64(e.SPNum))
		p.str("}}")
	default:
		unsupported("an expression of kind %T", e)
	}
}

// rangeOf writes the ends of a range without names of ports and protocols (range_expr_json of nft).
func (p *jsonExprPrinter) rangeOf(r *syntax.Range) {
	services, numeric := p.Services, p.NumericProtocol
	p.Services, p.NumericProtocol = false, true
	p.str(`{"range": [`)
	p.expr(r.Min)
	p.str(", ")
	p.expr(r.Max)
	p.str("]}")
	p.Services, p.NumericProtocol = services, numeric
}

func (p *jsonExprPrinter) payload(e *syntax.Payload) {
	if isKnown(e) {
		p.str(`{"payload": {"protocol": "`)
		p.str(e.Header.Name)
		p.str(`", "field": "`)
		p.str(e.Field.Name)
		p.str(`"}}`)
		return
	}
	p.str(`{"payload": {"base": "`)
	p.str(baseNames[e.Base])
	p.b = append(p.b, '"')
	p.integer("offset", uint64(e.Offset))
	p.integer("len", uint64(e.Bits))
	p.str("}}")
}

func (p *jsonExprPrinter) ct(key expr.CTKey, dir *uint8) {
	p.str(`{"ct": {"key": "`)
	if family := ctFamily(key); family != "" {
		p.str(family)
		p.b = append(p.b, ' ')
	}
	p.str(ctName(key))
	p.b = append(p.b, '"')
	if dir != nil && *dir < 2 {
		p.property("dir", directions[*dir])
	}
	p.str("}}")
}

// flags is a list of flags; one alone is no list.
func (p *jsonExprPrinter) flags(items []syntax.Expr) {
	if len(items) == 1 {
		p.expr(items[0])
		return
	}
	p.list(items)
}

func (p *jsonExprPrinter) element(e *syntax.Element) {
	if !e.HasTimeout && !e.HasExpires && !e.HasComment && len(e.Stmts) == 0 {
		p.expr(e.Key)
		return
	}
	p.str(`{"elem": {"val": `)
	p.expr(e.Key)
	if e.HasTimeout {
		p.integer("timeout", e.Timeout/1000)
	}
	if e.HasExpires {
		p.integer("expires", e.Expires/1000)
	}
	if e.HasComment {
		p.property("comment", e.Comment)
	}
	for _, s := range e.Stmts {
		// The statement becomes a property.
		p.str(", ")
		start := len(p.b)
		p.stmts.stmt(s)
		if last := len(p.b) - 1; p.b[start] == '{' && p.b[last] == '}' {
			p.b = append(p.b[:start], p.b[start+1:last]...)
		}
	}
	p.str("}}")
}

func (p *jsonExprPrinter) verdict(v *syntax.Verdict) {
	p.str(`{"`)
	p.str(verdictWord(v.Code))
	if v.Code == expr.Jump || v.Code == expr.Goto {
		p.str(`": {"target": `)
		p.jsonStr(chainName(v.Chain))
		p.str("}}")
		return
	}
	p.str(`": null}`)
}

func (p *jsonExprPrinter) setRef(r *syntax.SetRef) {
	if items, decl := inlineItems(r); decl != nil {
		p.inline(items, decl)
		return
	}
	p.str(`"@`)
	p.escaped(r.Name)
	p.b = append(p.b, '"')
}

func (p *jsonExprPrinter) inline(s *syntax.Set, decl *syntax.SetDecl) {
	p.str(`{"set": `)
	var items []syntax.Expr
	if s != nil {
		items = p.order.sorted(s.Items, hasIntervals(decl))
	}
	p.list(items)
	p.b = append(p.b, '}')
}

func (p *jsonExprPrinter) mapping(m *syntax.Map) {
	if isVerdictMap(m.Mappings) {
		p.str(`{"vmap": {"key": `)
	} else {
		p.str(`{"map": {"key": `)
	}
	p.expr(m.Key)
	p.str(`, "data": `)
	p.expr(m.Mappings)
	p.str("}}")
}

// jsonSign is the operator of a comparison as JSON has it: "in" for flags.
func jsonSign(r *syntax.Relational) string {
	if sign := relationSigns[r.Op]; sign != "" {
		return sign
	}
	if t := r.Left.Info().Type; t != nil && t.Is(syntax.TypeBitmask) {
		return "in"
	}
	return "=="
}

func (p *jsonExprPrinter) relational(r *syntax.Relational) {
	p.str(`{"match": {"op": "`)
	p.str(jsonSign(r))
	p.str(`", "left": `)
	p.text.compared, _ = r.Right.(*syntax.Value)
	p.expr(r.Left)
	p.str(`, "right": `)
	p.expr(r.Right)
	p.str("}}")
}

func (p *jsonExprPrinter) flagCmp(f *syntax.FlagCmp) {
	sign := "=="
	if f.Invert {
		sign = "!="
	}
	p.str(`{"match": {"op": "`)
	p.str(sign)
	p.str(`", "left": {"&": [`)
	p.expr(f.Of)
	p.str(", ")
	p.expr(f.Mask)
	p.str(`]}, "right": `)
	p.expr(f.Value)
	p.str("}}")
}

func (p *jsonExprPrinter) exthdr(e *syntax.Exthdr) {
	switch e.Op {
	case expr.ExthdrTCPOption:
		p.str(`{"tcp option": {"`)
		if e.Header == nil {
			p.str(`base": `)
			p.uint(uint64(e.RawType))
			p.integer("offset", uint64(e.Offset))
			p.integer("len", uint64(e.Bits))
			p.str("}}")
			return
		}
	case expr.ExthdrIPv4:
		p.str(`{"ip option": {"`)
	case expr.ExthdrSCTP:
		p.str(`{"sctp chunk": {"`)
	case expr.ExthdrIPv6:
		p.str(`{"exthdr": {"`)
	}
	if e.Header == nil {
		unsupported("the optional header %d", e.RawType)
	}
	p.str(`name": "`)
	p.str(e.Header.Name)
	p.b = append(p.b, '"')
	if !e.Present && e.Field != nil {
		p.property("field", e.Field.Name)
	}
	p.str("}}")
}

func (p *jsonExprPrinter) fib(e *syntax.Fib) {
	p.str(`{"fib": {"result": "`)
	p.str(fibResult(e))
	p.str(`", "flags": [`)
	first := true
	for i, word := range fibFlags {
		if e.Flags&(1<<i) != 0 {
			if !first {
				p.str(", ")
			}
			first = false
			p.inQuotes(func() { p.str(word) })
		}
	}
	p.str("]}}")
}

func (p *jsonExprPrinter) hash(e *syntax.Hash) {
	if e.Symmetric {
		p.str(`{"symhash": {"mod": `)
	} else {
		p.str(`{"jhash": {"mod": `)
	}
	p.uint(uint64(e.Modulus))
	if e.HasSeed {
		p.integer("seed", uint64(e.Seed))
	}
	if e.Offset != 0 {
		p.integer("offset", uint64(e.Offset))
	}
	if !e.Symmetric {
		p.str(`, "expr": `)
		p.expr(e.Of)
	}
	p.str("}}")
}

func (p *jsonExprPrinter) list(list []syntax.Expr) {
	p.array(len(list), func(i int) { p.expr(list[i]) })
}
