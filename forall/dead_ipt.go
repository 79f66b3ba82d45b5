package forall

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/forall/internal/diagram"
)

// iptDeadTable is a table of iptables.
func iptDeadTable(b *builder, rules *ruleset.Ruleset, table *ruleset.Table) *deadTable {
	family, dialect := rules.Family(), rules.Dialect()
	t := &deadTable{b: b, like: DeadRule{Family: family, Dialect: dialect, Table: table.Name()}}
	for c := range table.Chains() {
		made := &deadChain{name: c.Name, base: c.Policy != ruleset.PolicyNone, rules: make([]boundedRule, len(c.Rules))}
		for i, r := range c.Rules {
			bounded := &made.rules[i]
			bounded.text = func() string { return r.Text(c.Name, family, dialect) }
			bounded.most, bounded.exact = iptBounds(b, r)
			bounded.takes = iptTakes(r.Target)
			switch to := r.Target.(type) {
			case *xtables.Jump:
				bounded.leads = []string{to.Chain}
			case *xtables.OpaqueTarget:
				t.notJudged = fmt.Sprintf("table %s of IPv%d: what %q does to packets is not known",
					table.Name(), family, bounded.text())
			}
		}
		t.addChain(made)
	}
	return t
}

// iptTakes says whether no packet that a target meets goes on to the next rule.
func iptTakes(t xtables.Target) bool {
	switch t := t.(type) {
	case *xtables.TargetVerdict, *target.Reject, *target.DNAT, *target.SNAT, *target.Redirect, *target.Masquerade, *target.Netmap:
		return true
	case *xtables.Jump:
		return t.Goto
	}
	return false
}

// iptBounds is the packets that a rule may match, as far as addresses, protocols and ports say it. It is exact if the rule asks for nothing
// else.
func iptBounds(b *builder, r *xtables.Rule) (most diagram.ID, exact bool) {
	q := b.newBounds()
	q.exact = r.In == nil && r.Out == nil && r.Fragment == xtables.FragmentAny && r.Proto.Number <= 255
	for _, of := range []struct {
		v diagram.Var
		m *xtables.AddrMatch
	}{{vDst, r.Dst}, {vSrc, r.Src}} {
		if set, known := addrSet(of.m); !known {
			q.exact = false
		} else if of.m != nil {
			q.need(of.v, set, of.m.Invert)
		}
	}
	if n := r.Proto.Number; n != 0 && n <= 255 {
		q.need(vProto, diagram.SetOf(diagram.Point(diagram.Number(uint64(n)))), r.Proto.Invert)
		if b.six {
			q.whole() // of a chain of headers that cannot be read neither -p nor ! -p holds
		}
	}
	for _, m := range r.Matches {
		q.exact = q.iptMatch(m) && q.exact
	}
	return q.id(), q.exact
}

// iptMatch adds what a match says of ports; false if that is not all that it says.
func (q *bounds) iptMatch(m xtables.Match) bool {
	switch m := m.(type) {
	case *match.Comment:
		return true
	case *match.TCP:
		q.whole()
		q.tcp(&match.TCP{SrcPorts: m.SrcPorts, DstPorts: m.DstPorts, InvSrc: m.InvSrc, InvDst: m.InvDst}, &chain{})
		return m.FlagMask == 0 && m.FlagComp == 0 && !m.InvFlags && m.Option == 0
	case *match.UDP:
		q.whole()
		q.match(m, &chain{}, 0)
		return true
	case *match.SCTP:
		q.whole()
		q.match(&match.SCTP{SrcPorts: m.SrcPorts, DstPorts: m.DstPorts, InvSrc: m.InvSrc, InvDst: m.InvDst}, &chain{}, 0)
		return m.Chunks == nil
	case *match.Multiport:
		q.whole()
		q.match(m, &chain{}, 0)
		return true
	}
	return false
}
