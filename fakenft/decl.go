package fakenft

import (
	"github.com/chainwalk/chainwalk/fakenft/check"
	"github.com/chainwalk/chainwalk/fakenft/decompile"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// decl is a table as it is written, with what is to be shown of it.
func (r *run) decl(t *nftables.Table, what shown) *syntax.TableDecl {
	d := r.decompiler(t)
	decl := d.Table(&t.TableSpec, t.Handle)
	if what.objects {
		for _, o := range t.Objects() {
			if (what.kind == 0 || what.kind == o.Type) && (what.object == "" || what.object == o.Name) {
				decl.Objects = append(decl.Objects, d.Object(&o.ObjectSpec, o.Handle))
			}
		}
	}
	if what.sets {
		for _, s := range t.Sets() {
			if what.set != "" && what.set != s.Name || s.Flags&(nftables.SetAnonymous|nftables.SetEval) == nftables.SetAnonymous {
				continue
			}
			if r.terse && !r.json || r.need.flushed[setName{check.TableName{Family: t.Family, Name: t.Name}, s.Name}] {
				decl.Sets = append(decl.Sets, d.Declaration(s.Name))
			} else {
				decl.Sets = append(decl.Sets, d.Set(s.Name))
			}
		}
	}
	if what.flows {
		for _, f := range t.Flowtables() {
			if what.flow == "" || what.flow == f.Name {
				decl.Flows = append(decl.Flows, d.Flowtable(&f.FlowtableSpec, f.Handle))
			}
		}
	}
	if what.chains {
		for _, c := range t.Chains() {
			if what.chain != "" && what.chain != c.Name {
				continue
			}
			chain := d.Chain(&c.ChainSpec, c.Handle)
			if what.rules {
				chain.Rules = d.Rules(c.Rules, c.Name)
			}
			decl.Chains = append(decl.Chains, chain)
		}
	}
	return decl
}

func (r *run) decompiler(t *nftables.Table) *decompile.Decompiler {
	return decompile.Of(t, r.tools.kernel.Clock().Now())
}

// setDecl is a set as it is written.
func (r *run) setDecl(t *nftables.Table, s *nftables.Set, elements bool) *syntax.SetDecl {
	if elements {
		return r.decompiler(t).Set(s.Name)
	}
	return r.decompiler(t).Declaration(s.Name)
}

// elementsOf are the elements of a set that is written.
func elementsOf(s *syntax.SetDecl) []syntax.Expr {
	if all, is := s.Elements.(*syntax.Set); is {
		return all.Items
	}
	return nil
}

// keyOf is the key of an element.
func keyOf(item syntax.Expr) syntax.Expr {
	switch e := item.(type) {
	case *syntax.Mapping:
		return keyOf(e.Key)
	case *syntax.Element:
		return e.Key
	}
	return item
}

// ranged is an element of a set with intervals whose key is a range of two values, or a text.
func ranged(item syntax.Expr) syntax.Expr {
	switch e := item.(type) {
	case *syntax.Mapping:
		e.Key = ranged(e.Key)
		return e
	case *syntax.Element:
		if !isText(e.Key) {
			e.Key = asRange(e.Key)
		}
		return e
	}
	if isText(item) {
		return &syntax.Element{Common: *item.Info(), Key: item}
	}
	return &syntax.Element{Common: *item.Info(), Key: asRange(item)}
}

// isText says whether a key is a text, which has no number.
func isText(key syntax.Expr) bool {
	v, is := key.(*syntax.Value)
	return is && v.Type.Is(syntax.TypeString)
}

// asRange is a key as a range of two values; what is none stays as it is.
func asRange(key syntax.Expr) syntax.Expr {
	switch k := key.(type) {
	case *syntax.Value:
		least, most := *k, *k
		return &syntax.Range{Common: k.Common, Min: &least, Max: &most}
	case *syntax.Prefix:
		of, is := k.Of.(*syntax.Value)
		if !is {
			return key
		}
		least, most := *of, *of
		most.Num = of.Num.Or(syntax.Ones(of.Bits - k.Len))
		return &syntax.Range{Common: k.Common, Min: &least, Max: &most}
	}
	return key
}
