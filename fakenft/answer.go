package fakenft

import (
	"errors"
	"slices"
	"syscall"

	"github.com/chainwalk/chainwalk/fakenft/print"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// unsupported is the error of what is not imitated.
func unsupported(what string) error { return errors.New("chainwalk does not support " + what) }

// notThere is what the kernel says of what a command asks for and it does not have.
func (r *run) notThere(c *syntax.Command) bool {
	return r.fails(c, "Could not process rule: "+libc.Strerror(syscall.ENOENT))
}

// get prints the elements that a command asks for.
func (r *run) get(c *syntax.Command) bool {
	t := r.tableOf(&c.Handle)
	if t == nil || t.Set(c.Handle.Name) == nil {
		return r.notThere(c)
	}
	decl := r.setDecl(t, t.Set(c.Handle.Name), true)
	wanted, is := c.Elements.(*syntax.Set)
	if !is {
		return r.lacks(c, "get element of this kind")
	}
	var found []syntax.Expr
	for _, want := range wanted.Items {
		item := holding(elementsOf(decl), keyOf(want))
		if item == nil {
			return r.notThere(c)
		}
		if decl.Flags&nftables.SetInterval != 0 {
			item = bare(item)
		}
		found = append(found, item)
	}
	// nft forgets much of the set when it asks for elements.
	decl.HasComment = false
	decl.Stmts = nil
	decl.Typeof = false
	decl.Elements = &syntax.Set{Common: wanted.Common, Items: found}
	table := r.decl(t, shown{})
	table.Sets = []*syntax.SetDecl{decl}
	return r.printed(c, func(out []byte) ([]byte, error) {
		return print.AppendSets(out, []*syntax.TableDecl{table}, syntax.KindSet, r.printing())
	})
}

// bare is an element without what belongs to it but its data.
func bare(item syntax.Expr) syntax.Expr {
	if m, is := item.(*syntax.Mapping); is {
		return &syntax.Mapping{Common: m.Common, Key: keyOf(m), Data: m.Data}
	}
	return keyOf(item)
}

// printed appends to what the tool prints.
func (r *run) printed(c *syntax.Command, what func(out []byte) ([]byte, error)) bool {
	out, err := what(r.out.AvailableBuffer())
	r.out.Write(out)
	if err != nil {
		return r.fails(c, err.Error())
	}
	return true
}

// holding is the first of the elements whose key has all of a key in it; nil if there is none.
func holding(items []syntax.Expr, key syntax.Expr) syntax.Expr {
	for _, item := range items {
		if holds(keyOf(item), key) {
			return item
		}
	}
	return nil
}

// holds says whether a key of a set has all of another key in it.
func holds(key, other syntax.Expr) bool {
	if whole, is := key.(*syntax.Concat); is {
		parts, is := other.(*syntax.Concat)
		if !is || len(parts.Parts) != len(whole.Parts) {
			return false
		}
		for i := range parts.Parts {
			if !holds(whole.Parts[i], parts.Parts[i]) {
				return false
			}
		}
		return true
	}
	if _, is := key.(*syntax.Catchall); is {
		_, is = other.(*syntax.Catchall)
		return is
	}
	a, isRange := asRange(key).(*syntax.Range)
	b, alsoRange := asRange(other).(*syntax.Range)
	if !isRange || !alsoRange {
		return false
	}
	aMin, aMax, bMin, bMax := number(a.Min), number(a.Max), number(b.Min), number(b.Max)
	if aMin == nil || aMax == nil || bMin == nil || bMax == nil {
		return false
	}
	if aMin.Text != "" || bMin.Text != "" {
		return aMin.Text == bMin.Text && aMin.Bits == bMin.Bits
	}
	return aMin.Num.Cmp(bMin.Num) <= 0 && bMax.Num.Cmp(aMax.Num) <= 0
}

// number is a value; nil if the expression is none.
func number(e syntax.Expr) *syntax.Value {
	v, _ := e.(*syntax.Value)
	return v
}

// reset prints counters or quotas and sets them back.
func (r *run) reset(c *syntax.Command) bool {
	kind, isObject := objectKinds[c.Kind]
	if !isObject || kind != expr.ObjectCounter && kind != expr.ObjectQuota {
		return r.lacks(c, "reset of this")
	}
	tables := r.tables(c, shown{objects: true, object: c.Handle.Name, kind: kind})
	tables = slices.DeleteFunc(tables, func(t *syntax.TableDecl) bool { return len(t.Objects) == 0 })
	if c.Handle.Name != "" && len(tables) == 0 {
		return r.notThere(c)
	}
	done := r.printed(c, func(out []byte) ([]byte, error) {
		if r.json {
			return print.AppendJSONObjects(out, tables, kind, r.printing())
		}
		return print.AppendObjects(out, tables, kind, r.printing())
	})
	for _, decl := range tables {
		for _, o := range decl.Objects {
			r.tools.reset.Store(true)
			r.view.Table(decl.Handle.Family, decl.Handle.Table).Object(kind, o.Handle.Name).Reset()
		}
	}
	return done
}

// describe prints what an expression or a type is.
func (r *run) describe(c *syntax.Command) error {
	out, err := print.AppendDescribe(r.out.AvailableBuffer(), c.Describe)
	r.out.Write(out)
	return err
}
