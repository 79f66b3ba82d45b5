package parse

import "github.com/chainwalk/chainwalk/fakenft/syntax"

// nodes are the values that a text has most of.
type nodes struct {
	symbols   syntax.Slab[syntax.Symbol]
	values    syntax.Slab[syntax.Value]
	payloads  syntax.Slab[syntax.Payload]
	metas     syntax.Slab[syntax.Meta]
	relations syntax.Slab[syntax.Relational]
	matches   syntax.Slab[syntax.Match]
	verdicts  syntax.Slab[syntax.Verdict]
	ends      syntax.Slab[syntax.VerdictStmt]
	elems     syntax.Slab[syntax.Element]
	mappings  syntax.Slab[syntax.Mapping]
	maps      syntax.Slab[syntax.Map]
	sets      syntax.Slab[syntax.Set]
	concats   syntax.Slab[syntax.Concat]
	rules     syntax.Slab[syntax.Rule]
	cmds      syntax.Slab[syntax.Command]
	exprLists syntax.Lists[syntax.Expr]
	stmtLists syntax.Lists[syntax.Stmt]
}

// symbol makes a symbol.
func (n *nodes) symbol(at syntax.Loc, name string) *syntax.Symbol {
	s := n.symbols.New()
	s.Loc, s.Text = at, name
	return s
}
