package jsontext

import "github.com/chainwalk/chainwalk/fakenft/syntax"

func (r *exprReader) setItem(v *value) syntax.Expr {
	var left, right *value
	if !is(v, "[o, o!]", &left, &right) {
		return wrapped(r.rhs(v))
	}
	key := wrapped(r.rhs(left))
	if key == nil {
		return nil
	}
	data := r.setData(right)
	if data == nil {
		return nil
	}
	return &syntax.Mapping{Common: here(), Key: key, Data: data}
}

// setItems reads the elements of a set; nil if there are none, or if it notes an error.
func (r *exprReader) setItems(v *value) syntax.Expr {
	if v.kind != array {
		saved := r.context
		defer func() { r.context = saved }()
		r.context |= onRight
		return r.immediate(v)
	}
	if len(v.items) == 0 {
		return nil
	}
	set := &syntax.Set{Common: here(), Items: make([]syntax.Expr, 0, len(v.items))}
	for i := range v.items {
		item := r.setItem(&v.items[i])
		if item == nil {
			r.wrong("Invalid set elem at index %d.", i)
			return nil
		}
		set.Items = append(set.Items, item)
	}
	return set
}

func (r *exprReader) anonymousSet(_ string, v *value) syntax.Expr {
	e := r.setItems(v)
	if e == nil {
		return nil
	}
	return e
}
