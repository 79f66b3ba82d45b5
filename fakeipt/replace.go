package fakeipt

import (
	"fmt"
	"io"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// RuleEdit is a rule that becomes another one: a line "-A CHAIN ..." of iptables-save, and the line that stands there now, of the same
// chain.
type RuleEdit struct {
	Table   string
	Number  int // in its chain, from 1
	Was, Is string
}

// ReplaceRule puts a rule in the place of one that Kernel.Load has read, as if the text had had its line there. All other rules stay what
// they are. It is false, and nothing has changed, if one of the lines tells something that other lines depend on, if one of the rules has
// more than itself in the kernel, and if the tools refuse the new one.
func (k *Kernel) ReplaceRule(f netfilter.Family, e RuleEdit) bool {
	chain, options, appends := appended(e.Is)
	if before, _, is := appended(e.Was); !appends || !is || before != chain || ruleFamily(e.Was) != ruleFamily(e.Is) {
		return false
	}
	k.namespace.Lock()
	defer k.namespace.Unlock()
	before := k.Ruleset(f)
	old := ruleOf(before, e.Table, chain, e.Number)
	if old == nil || !isAlone(old) {
		return false
	}
	restore := newRestorer(f, caller{kernel: k}, xtables.FactsOf(f).Tool+"-restore", io.Discard)
	defer restore.close()
	restore.noflush = true
	input := fmt.Sprintf("*%s\n-R %s %d %s\nCOMMIT\n", e.Table, chain, e.Number, options)
	if restore.run([]byte(input)) == nil {
		is := ruleOf(k.Ruleset(f), e.Table, chain, e.Number)
		if is != nil && isAlone(is) && leadsWhere(k.Ruleset(f).Table(e.Table), old, is) {
			return true
		}
	}
	k.rulesets[indexOf(f)].Store(before)
	return false
}

// appended takes a line "-A CHAIN OPTIONS" apart, in which the tool reads nothing else.
func appended(line string) (chain, options string, is bool) {
	rest, is := strings.CutPrefix(line, "-A ")
	chain, options, found := strings.Cut(rest, " ")
	return chain, options, is && found && chain != "" && len(line) < maxLine && !strings.ContainsAny(chain, "\"\\'\t") &&
		!strings.ContainsAny(line, "\n\r\x00")
}

// ruleOf is a rule by its number, from 1; nil if there is none.
func ruleOf(rules *ruleset.Ruleset, table, chain string, number int) *xtables.Rule {
	t := rules.Table(table)
	if t == nil || t.Chain(chain) == nil {
		return nil
	}
	if all := t.Chain(chain).Rules; number >= 1 && number <= len(all) {
		return all[number-1]
	}
	return nil
}

// isAlone says whether a rule is all that the kernel has because of it.
func isAlone(r *xtables.Rule) bool {
	for _, m := range r.Matches {
		switch m.(type) {
		case *match.TCP, *match.UDP, *match.SCTP, *match.ICMP, *match.Multiport, *match.Comment, *match.Conntrack, *match.State, *match.Addrtype,
			*match.IPRange, *match.Mark:
		default:
			return false
		}
	}
	switch r.Target.(type) {
	case nil, *xtables.Jump, *target.DNAT, *target.SNAT, *target.Masquerade, *target.Redirect, *target.Reject, *target.Mark, *target.Log:
		return true
	}
	return xtables.IsVerdict(r.Target)
}

// leadsWhere says whether a text can have one rule for the other without regard to where it declares its chains: a rule that leads to a
// chain must stand behind the line that declares it, and a chain takes the name of a target.
func leadsWhere(t *ruleset.Table, old, is *xtables.Rule) bool {
	jump, leads := is.Target.(*xtables.Jump)
	if !leads {
		return is.Target == nil || t.Chain(is.Target.Name()) == nil
	}
	before, led := old.Target.(*xtables.Jump)
	return led && *before == *jump
}
