package syntax

// Clone copies an expression with all that it consists of, since evaluation and what loads expressions back change them in place. A
// variable is copied as what it stands for. Declarations of sets, headers and statements of elements stay the same.
func Clone(e Expr) Expr {
	if one := cloneOne(e); one != nil {
		return one
	}
	switch e := e.(type) {
	case *Variable:
		return Clone(e.To)
	case *Verdict:
		n := *e
		n.Chain = Clone(e.Chain)
		return &n
	case *Prefix:
		n := *e
		n.Of = Clone(e.Of)
		return &n
	case *Range:
		n := *e
		n.Min, n.Max = Clone(e.Min), Clone(e.Max)
		return &n
	case *Binop:
		n := *e
		n.Left, n.Right = Clone(e.Left), Clone(e.Right)
		return &n
	case *Unary:
		n := *e
		n.Of = Clone(e.Of)
		return &n
	case *Hash:
		n := *e
		n.Of = Clone(e.Of)
		return &n
	case *Concat:
		n := *e
		n.Parts = cloneAll(e.Parts)
		return &n
	}
	return cloneMember(e)
}

// cloneOne copies an expression that has none within; nil for others.
func cloneOne(e Expr) Expr {
	switch e := e.(type) {
	case *Symbol:
		return new(*e)
	case *Value:
		return new(*e)
	case *Catchall:
		return new(*e)
	case *Payload:
		return new(*e)
	case *Exthdr:
		return new(*e)
	case *Meta:
		return new(*e)
	case *CT:
		return new(*e)
	case *RT:
		return new(*e)
	case *Socket:
		return new(*e)
	case *Osf:
		return new(*e)
	case *XFRM:
		return new(*e)
	case *Fib:
		return new(*e)
	case *Numgen:
		return new(*e)
	case *SetRef:
		return new(*e)
	}
	return nil
}

// cloneMember copies sets, their elements, and what looks things up in them.
func cloneMember(e Expr) Expr {
	switch e := e.(type) {
	case *List:
		n := *e
		n.Items = cloneAll(e.Items)
		return &n
	case *Set:
		n := *e
		n.Items = cloneAll(e.Items)
		return &n
	case *Element:
		n := *e
		n.Key = Clone(e.Key)
		return &n
	case *Mapping:
		n := *e
		n.Key, n.Data = Clone(e.Key), Clone(e.Data)
		return &n
	case *Map:
		n := *e
		n.Key, n.Mappings = Clone(e.Key), Clone(e.Mappings)
		return &n
	}
	return e
}

func cloneAll(list []Expr) []Expr {
	n := make([]Expr, len(list))
	for i, e := range list {
		n[i] = Clone(e)
	}
	return n
}
