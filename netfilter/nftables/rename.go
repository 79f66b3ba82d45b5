package nftables

import (
	"slices"
	"time"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// renameVerdicts gives all verdicts that lead to a chain its new name: the kernel holds the chain and not its name.
func (t *tableEdit) renameVerdicts(old, name string) {
	for _, c := range t.Chains() {
		for i, r := range c.Rules {
			at := slices.IndexFunc(r.Exprs, func(e expr.Expr) bool {
				x, is := e.(*expr.Immediate)
				return is && x.Data.Verdict != nil && x.Data.Verdict.Chain == old
			})
			if at < 0 {
				continue
			}
			x := *r.Exprs[at].(*expr.Immediate)
			x.Data.Verdict = &expr.Verdict{Code: x.Data.Verdict.Code, Chain: name}
			own := &Rule{Handle: r.Handle, Exprs: slices.Clone(r.Exprs), UserData: r.UserData, Origin: r.Origin}
			own.Exprs[at] = &x
			chain := t.ownChain(c.Name)
			chain.Rules = slices.Clone(chain.Rules)
			chain.Rules[i] = own
		}
	}
	for _, s := range t.Sets() {
		if s.DataType != DataVerdict {
			continue
		}
		for _, e := range s.members.Load().all(time.Time{}) {
			if v := verdictOf(e); v != nil && v.Chain == old {
				set := t.ownSet(s.Name, 0)
				changed := &Element{ElementSpec: e.ElementSpec, Deadline: e.Deadline}
				changed.Data = &expr.Data{Verdict: &expr.Verdict{Code: v.Code, Chain: name}}
				set.members.Load().put(&set.SetSpec, changed, e)
			}
		}
	}
}
