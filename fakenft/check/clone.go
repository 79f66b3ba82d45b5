package check

import "github.com/chainwalk/chainwalk/fakenft/syntax"

// clone copies what a variable stands for, as it may be used several times and evaluation changes it.
func clone(e syntax.Expr) syntax.Expr {
	switch e := e.(type) {
	case *syntax.Symbol:
		return ptr(*e)
	case *syntax.Value:
		return ptr(*e)
	case *syntax.Catchall:
		return ptr(*e)
	case *syntax.Meta:
		return ptr(*e)
	case *syntax.Payload:
		return ptr(*e)
	case *syntax.SetRef:
		return ptr(*e)
	case *syntax.Verdict:
		n := *e
		if e.Chain != nil {
			n.Chain = clone(e.Chain)
		}
		return &n
	case *syntax.Variable:
		return clone(e.To)
	case *syntax.Prefix:
		n := *e
		n.Of = clone(e.Of)
		return &n
	case *syntax.Range:
		n := *e
		n.Min, n.Max = clone(e.Min), clone(e.Max)
		return &n
	case *syntax.Binop:
		n := *e
		n.Left, n.Right = clone(e.Left), clone(e.Right)
		return &n
	}
	return cloneMany(e)
}

func cloneMany(e syntax.Expr) syntax.Expr {
	switch e := e.(type) {
	case *syntax.Concat:
		n := *e
		n.Parts = clones(e.Parts)
		return &n
	case *syntax.List:
		n := *e
		n.Items = clones(e.Items)
		return &n
	case *syntax.Set:
		n := *e
		n.Items = clones(e.Items)
		return &n
	case *syntax.Element:
		n := *e
		n.Key = clone(e.Key)
		return &n
	case *syntax.Mapping:
		n := *e
		n.Key, n.Data = clone(e.Key), clone(e.Data)
		return &n
	}
	return e
}

func clones(list []syntax.Expr) []syntax.Expr {
	n := make([]syntax.Expr, len(list))
	for i, e := range list {
		n[i] = clone(e)
	}
	return n
}

func ptr[T any](v T) *T { return &v }
