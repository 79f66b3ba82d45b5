package forall

import (
	"slices"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// opaqueIs is a comparison of a value that only conditions with names can be about. One that must not hold is the same condition.
func (x *nftRun) opaqueIs(r *run, e *expr.Cmp) diagram.ID {
	is := *e
	if e.Op == expr.Neq {
		is.Op = expr.Eq
	}
	at := x.r.at(e)
	for at > 0 { // of both ends of a range each is a condition
		before, compares := x.r.Exprs[at-1].(*expr.Cmp)
		if !compares || before.Sreg != e.Sreg {
			break
		}
		at--
	}
	holds := x.named(r.of.name+" "+expr.Text(&expr.Cmp{Op: is.Op, Data: e.Data}), x.r.part(x.b, x.c, at, &is))
	return unless(x.b, e.Op == expr.Neq, holds)
}

// opaqueIn is the condition that such a value is in a range, or is not.
func (x *nftRun) opaqueIn(r *run, e *expr.Range) diagram.ID {
	in := *e
	in.Op = expr.Eq
	holds := x.named(r.of.name+" "+expr.Text(&expr.Range{From: e.From, To: e.To}), x.r.part(x.b, x.c, x.r.at(e), &in))
	return unless(x.b, e.Op == expr.Neq, holds)
}

// unless is a condition, or its contrary.
func unless(b *builder, invert bool, condition diagram.ID) diagram.ID {
	if invert {
		return b.then(condition, b.s.One(no), b.s.One(yes))
	}
	return condition
}

// at is the number of an expression in its rule.
func (r *nftRule) at(e expr.Expr) int { return slices.Index(r.Exprs, e) }

// part is what a tool prints for an expression at a place of the rule, as "ip ttl 64": the expressions before it say what it is about. It
// is empty if the tool prints nothing for it.
func (r *nftRule) part(b *builder, c *chain, i int, e expr.Expr) func() string {
	return func() string {
		speller := b.t.Speller()
		if speller == nil || i < 0 {
			return ""
		}
		rule := nftables.Rule{Exprs: append(slices.Clone(r.Exprs[:i]), e)}
		return speller.Part(r.table, c.nftChain, &rule, 0, i+1)
	}
}
