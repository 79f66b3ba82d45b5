package print

import "github.com/chainwalk/chainwalk/fakenft/syntax"

// AppendExpr appends an expression as nft lists it.
func AppendExpr(dst []byte, e syntax.Expr, o *Options) (_ []byte, err error) {
	p := newPrinter(dst, o)
	err = guard(func() { p.exprs.expr(e) })
	return p.b, err
}

// exprPrinter prints expressions: keys of packets, constants, sets in braces, what is made of them.
type exprPrinter struct {
	*buffer
	*Options
	values *values
	order  *sorter
	stmts  *stmtPrinter
}

func (p *exprPrinter) expr(e syntax.Expr) {
	switch e := e.(type) {
	case *syntax.Value:
		p.values.value(e)
	case *syntax.Payload:
		p.payload(e)
	case *syntax.Meta:
		p.meta(e)
	case *syntax.CT:
		p.ct(e)
	case *syntax.Concat:
		p.joined(e.Parts, " . ")
	case *syntax.List:
		p.joined(e.Items, ",")
	case *syntax.Element:
		p.element(e)
	case *syntax.Mapping:
		p.expr(e.Key)
		p.str(" : ")
		p.expr(e.Data)
	case *syntax.Verdict:
		p.verdict(e)
	case *syntax.SetRef:
		p.setRef(e)
	case *syntax.Set:
		p.inline(e, nil)
	case *syntax.Map:
		p.mapping(e)
	case *syntax.Prefix:
		p.expr(e.Of)
		p.b = append(p.b, '/')
		p.int(int64(e.Len))
	case *syntax.Range:
		p.rangeOf(e)
	case *syntax.Relational:
		p.relational(e)
	case *syntax.Binop:
		p.binop(e)
	case *syntax.Catchall:
		p.b = append(p.b, '*')
	case *syntax.FlagCmp:
		p.flagCmp(e)
	case *syntax.Unary:
		p.expr(e.Of)
	default:
		p.rarerExpr(e)
	}
}

func (p *exprPrinter) rarerExpr(e syntax.Expr) {
	switch e := e.(type) {
	case *syntax.Symbol:
		p.str(e.Text)
	case *syntax.Variable:
		p.b = append(p.b, '$')
		p.str(e.Name)
	case *syntax.Exthdr:
		p.exthdr(e)
	case *syntax.Fib:
		p.fib(e)
	case *syntax.Numgen:
		p.numgen(e)
	case *syntax.Hash:
		p.hash(e)
	case *syntax.RT:
		p.rt(e)
	case *syntax.Socket:
		p.socket(e)
	case *syntax.Osf:
		p.osf(e)
	case *syntax.XFRM:
		p.xfrm(e)
	default:
		unsupported("an expression of kind %T", e)
	}
}

func (p *exprPrinter) joined(list []syntax.Expr, by string) {
	for i, e := range list {
		if i > 0 {
			p.str(by)
		}
		p.expr(e)
	}
}

// rangeOf writes the ends of a range as numbers whatever was asked for (range_expr_print of nft).
func (p *exprPrinter) rangeOf(r *syntax.Range) {
	saved := *p.Options
	p.Services, p.Accounts = false, false
	p.Numeric()
	p.expr(r.Min)
	p.b = append(p.b, '-')
	p.expr(r.Max)
	*p.Options = saved
}

// relationSigns are the operators of comparisons as text has them.
var relationSigns = [...]string{
	syntax.OpImplicit: "", syntax.OpEq: "==", syntax.OpNeq: "!=", syntax.OpLt: "<", syntax.OpGt: ">", syntax.OpLte: "<=", syntax.OpGte: ">=",
	syntax.OpNeg: "!",
}

func (p *exprPrinter) relational(r *syntax.Relational) {
	p.values.compared, _ = r.Right.(*syntax.Value)
	p.expr(r.Left)
	p.b = append(p.b, ' ')
	if sign := relationSigns[r.Op]; sign != "" && (r.Op != syntax.OpEq || saysEqual(r)) {
		p.str(sign)
		p.b = append(p.b, ' ')
	}
	p.expr(r.Right)
}

// saysEqual says whether == is written: "tcp flags syn" would mean something else.
func saysEqual(r *syntax.Relational) bool {
	if v, ok := r.Right.(*syntax.Value); ok && v.Type != nil && v.Type.Base != nil && v.Type.Base.ID == syntax.TypeBitmask.ID {
		return true
	}
	_, binop := r.Left.(*syntax.Binop)
	return binop
}

func (p *exprPrinter) flagCmp(f *syntax.FlagCmp) {
	p.expr(f.Of)
	if f.Invert {
		p.str(" !=")
	}
	p.b = append(p.b, ' ')
	p.expr(f.Value)
	p.str(" / ")
	p.expr(f.Mask)
}

// binarySigns are the operators of Binop, and weights how much they bind: the fewer, the more.
var (
	binarySigns = [...]string{syntax.OpAnd: "&", syntax.OpOr: "|", syntax.OpXor: "^", syntax.OpLeft: "<<", syntax.OpRight: ">>"}
	weights     = [...]int{syntax.OpAnd: 2, syntax.OpOr: 4, syntax.OpXor: 3, syntax.OpLeft: 1, syntax.OpRight: 1}
)

func (p *exprPrinter) binop(b *syntax.Binop) {
	p.operand(b.Op, b.Left)
	p.b = append(p.b, ' ')
	p.str(binarySigns[b.Op])
	p.b = append(p.b, ' ')
	p.operand(b.Op, b.Right)
}

func (p *exprPrinter) operand(op syntax.BinaryOp, e syntax.Expr) {
	if inner, ok := e.(*syntax.Binop); ok && weights[op] < weights[inner.Op] {
		p.b = append(p.b, '(')
		p.expr(e)
		p.b = append(p.b, ')')
		return
	}
	p.expr(e)
}

func (p *exprPrinter) mapping(m *syntax.Map) {
	p.expr(m.Key)
	if isVerdictMap(m.Mappings) {
		p.str(" vmap ")
	} else {
		p.str(" map ")
	}
	p.expr(m.Mappings)
}

// isVerdictMap says whether the data of a map are verdicts.
func isVerdictMap(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.SetRef:
		return e.Set != nil && e.Set.Data != nil && e.Set.Data.Info().Type == syntax.TypeVerdict
	case *syntax.Set:
		if len(e.Items) > 0 {
			if m, ok := e.Items[0].(*syntax.Mapping); ok {
				_, verdict := m.Data.(*syntax.Verdict)
				return verdict
			}
		}
	}
	return false
}

func (p *exprPrinter) setRef(r *syntax.SetRef) {
	if items, decl := inlineItems(r); decl != nil {
		p.inline(items, decl)
		return
	}
	p.b = append(p.b, '@')
	p.str(r.Name)
}
