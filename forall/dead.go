package forall

import (
	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter"
)

// DeadRule is a rule that no packet of any kind meets and matches.
type DeadRule struct {
	Family       netfilter.Family  `json:"family"`
	Dialect      netfilter.Dialect `json:"dialect"`
	Table, Chain string
	Number       int    `json:"number"` // from 1
	Text         string `json:"text"`
	// CoveredBy are the numbers of rules of the chain that take, together, all packets that the rule would match. It is empty where nothing
	// leads to
	// the chain, or where the rule contradicts itself.
	CoveredBy []int `json:"coveredBy,omitempty"`
	// Unreferenced says that no rule of a chain that packets come to leads to the chain.
	Unreferenced bool `json:"unreferenced,omitempty"`
}

// Dead are rules of iptables that are dead whatever packets come, in whatever state. Rules are compared within their chain, by
// addresses, protocols and
// ports: no rule is called dead that some packet matches, while one that only a mark, a connection's state or the way to its chain makes
// useless is not
// found. Rules of nftables are not looked at.
func (f *Fates) Dead() ([]DeadRule, error) {
	var all []DeadRule
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		if f.host.Netfilter() == nil {
			continue
		}
		t, err := f.host.Terrain(family)
		if err != nil {
			return nil, err
		}
		b := newBuilder(newWorld(family == netfilter.IPv6, nil), t, New, &Options{Chance: Exact})
		for _, kernel := range fakeipt.Kernels(f.host.Netfilter()) {
			d := deadRules{b: b, rules: kernel.Ruleset(family)}
			for _, table := range d.rules.Tables() {
				d.table(table)
			}
			all = append(all, d.found...)
		}
	}
	return all, nil
}

// deadRules finds the dead rules of a ruleset.
type deadRules struct {
	b     *builder
	rules *ruleset.Ruleset
	found []DeadRule
}

func (d *deadRules) table(table *ruleset.Table) {
	led := map[string]bool{}
	var follow func(c *ruleset.Chain)
	follow = func(c *ruleset.Chain) {
		if c == nil || led[c.Name] {
			return
		}
		led[c.Name] = true
		for _, r := range c.Rules {
			if jump, is := r.Target.(*xtables.Jump); is {
				follow(table.Chain(jump.Chain))
			}
		}
	}
	for c := range table.Chains() {
		if c.Policy != ruleset.PolicyNone {
			follow(c)
		}
	}
	for c := range table.Chains() {
		d.chain(table, c, led[c.Name])
	}
}

// chain looks at the rules of a chain in turn, with the packets that the rules before have taken.
func (d *deadRules) chain(table *ruleset.Table, c *ruleset.Chain, reached bool) {
	s := d.b.s
	taken := s.One(no)
	type taker struct {
		number int
		what   diagram.ID
	}
	var takers []taker
	for i, r := range c.Rules {
		dead := DeadRule{Family: d.rules.Family(), Dialect: d.rules.Dialect(), Table: table.Name(), Chain: c.Name, Number: i + 1,
			Text: r.Text(c.Name, d.rules.Family(), d.rules.Dialect())}
		most, exact := d.box(r)
		left := d.b.then(taken, s.One(no), most)
		switch {
		case !reached:
			dead.Unreferenced = true
			d.found = append(d.found, dead)
			continue
		case left == s.One(no):
			for _, t := range takers {
				if d.b.then(most, t.what, s.One(no)) != s.One(no) {
					dead.CoveredBy = append(dead.CoveredBy, t.number)
				}
			}
			d.found = append(d.found, dead)
			continue
		}
		if exact && takes(r.Target) {
			taken = d.b.then(taken, s.One(yes), most)
			takers = append(takers, taker{i + 1, most})
		}
	}
}

// takes says whether no packet that a target meets goes on to the next rule.
func takes(t xtables.Target) bool {
	switch t := t.(type) {
	case *xtables.TargetVerdict, *target.Reject, *target.DNAT, *target.SNAT, *target.Redirect, *target.Masquerade, *target.Netmap:
		return true
	case *xtables.Jump:
		return t.Goto
	}
	return false
}

// box is the packets that a rule may match, as far as addresses, protocols and ports say it. It is exact if the rule asks for nothing
// else.
func (d *deadRules) box(r *xtables.Rule) (most diagram.ID, exact bool) {
	st := state{port: asIs}
	q := d.b.newCond(&st)
	exact = r.In == nil && r.Out == nil && r.Fragment == xtables.FragmentAny && r.Proto.Number <= 255
	for _, of := range []struct {
		v diagram.Var
		m *xtables.AddrMatch
	}{{vDst, r.Dst}, {vSrc, r.Src}} {
		if set, known := addrSet(of.m); !known {
			exact = false
		} else if of.m != nil {
			q.need(of.v, set, of.m.Invert)
		}
	}
	if n := r.Proto.Number; n != 0 && n <= 255 {
		q.need(vProto, diagram.SetOf(diagram.Point(diagram.Number(uint64(n)))), r.Proto.Invert)
	}
	for _, m := range r.Matches {
		exact = d.match(q, m) && exact
	}
	return q.id(), exact
}

// match adds what a match says of ports; false if that is not all that it says.
func (d *deadRules) match(q *cond, m xtables.Match) bool {
	switch m.(type) {
	case *match.TCP, *match.UDP, *match.SCTP, *match.Multiport: // they do not hold for a fragment that is not the first
		s := d.b.s
		q.more = append(q.more, s.Choose(d.b.w.name("a fragment"), diagram.Set{diagram.Point(diagram.Number(1))}, s.One(no), s.One(yes)))
	}
	switch m := m.(type) {
	case *match.Comment:
		return true
	case *match.TCP:
		q.tcp(&match.TCP{SrcPorts: m.SrcPorts, DstPorts: m.DstPorts, InvSrc: m.InvSrc, InvDst: m.InvDst}, &chain{})
		return m.FlagMask == 0 && m.FlagComp == 0 && !m.InvFlags && m.Option == 0
	case *match.UDP:
		q.match(m, &chain{}, 0)
		return true
	case *match.SCTP:
		q.match(&match.SCTP{SrcPorts: m.SrcPorts, DstPorts: m.DstPorts, InvSrc: m.InvSrc, InvDst: m.InvDst}, &chain{}, 0)
		return m.Chunks == nil
	case *match.Multiport:
		q.match(m, &chain{}, 0)
		return true
	}
	return false
}
