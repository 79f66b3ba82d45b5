package fakenft

import (
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/compile"
	"github.com/chainwalk/chainwalk/fakenft/parse"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// ReplaceRule puts a rule in the place of one of a listing that LoadPlaces has loaded, as if the listing had had this line there. All other
// rules stay what they are, so that whoever knows them by their pointers knows them still. It is false, and nothing has changed, if the
// line is not one rule, and if one of the two rules has more than itself in the kernel, such as a set without a name, or is refused.
func (t *Tools) ReplaceRule(at RulePlace, line string) bool {
	rule := ruleOfLine(at, line)
	if rule == nil {
		return false
	}
	t.namespace.Lock()
	defer t.namespace.Unlock()
	old := ruleAt(t.kernel.State(), at)
	if old == nil || !isAlone(old.Exprs) {
		return false
	}
	command := &syntax.Command{Op: syntax.OpReplace, Kind: syntax.KindRule, Rule: rule, Loc: rule.Loc,
		Handle: syntax.Handle{Family: at.Table.Family, Table: at.Table.Name, Chain: at.Chain, Number: old.Handle}}
	if t.checkLoaded(&syntax.Input{}, []*syntax.Command{command}) != nil {
		return false
	}
	changes, err := compile.Command(command)
	if err != nil || len(changes) != 1 {
		return false
	}
	change, is := changes[0].(*nftables.AddRule)
	return is && isAlone(change.Exprs) && len(t.kernel.Commit([]nftables.Change{change})) == 0
}

// ruleOfLine reads a line as one in the block of a chain; nil if it is not one rule. Marks that could end the block, or have what stands
// elsewhere in a listing decide what the rule is, are in no such line.
func ruleOfLine(at RulePlace, line string) *syntax.Rule {
	if strings.ContainsAny(line, "{};@$\\\n") {
		return nil
	}
	in := &syntax.Input{Text: "table " + at.Table.Family.String() + " " + at.Table.Name + " {\nchain " + at.Chain + " {\n" + line + "\n}\n}\n"}
	commands, mistakes := parse.Text(in, parse.Options{})
	if loadError(in, mistakes) != nil || len(commands) != 1 || commands[0].Table == nil || len(commands[0].Table.Chains) != 1 {
		return nil
	}
	chain := commands[0].Table.Chains[0]
	if len(chain.Rules) != 1 || chain.HasComment || chain.Hook != nil {
		return nil
	}
	return chain.Rules[0]
}

// ruleAt is the rule of a place; nil if there is none, or another one of the chain has its handle, as a listing that hands have written may
// say.
func ruleAt(state *nftables.State, at RulePlace) *nftables.Rule {
	table := state.Table(at.Table.Family, at.Table.Name)
	if table == nil {
		return nil
	}
	chain := table.Chain(at.Chain)
	if chain == nil || at.Number < 1 || at.Number > len(chain.Rules) {
		return nil
	}
	rule := chain.Rules[at.Number-1]
	if slices.IndexFunc(chain.Rules, func(r *nftables.Rule) bool { return r.Handle == rule.Handle }) != at.Number-1 {
		return nil
	}
	return rule
}

// isAlone says whether a rule is all that the kernel has because of it: no set, no object and nothing that the namespace keeps.
func isAlone(exprs []expr.Expr) bool {
	for _, x := range exprs {
		switch x := x.(type) {
		case *expr.Immediate, *expr.Cmp, *expr.Range, *expr.Bitwise, *expr.Byteorder, *expr.Payload, *expr.Meta, *expr.Counter, *expr.Reject,
			*expr.NAT, *expr.Masq, *expr.Redir, *expr.Fib:
		case *expr.CT:
			if x.Writes || x.Key != expr.CTState && x.Key != expr.CTStatus && x.Key != expr.CTMark && x.Key != expr.CTDirection {
				return false
			}
		default:
			return false
		}
	}
	return true
}
