package fakeipt

import "github.com/chainwalk/chainwalk/netfilter"

// MatchState is -m state, the older spelling of -m conntrack --ctstate.
type MatchState struct {
	States CTState
	Invert bool
}

// Name is "state".
func (*MatchState) Name() string { return "state" }

func (m *MatchState) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.States.append(append(appendOption(dst, "--state", m.Invert), ' '))
}

func (m *MatchState) appendList(dst []byte, _ listStyle) []byte {
	return m.States.append(append(appendOption(dst, "state", m.Invert), ' '))
}

func (m *MatchState) addFact(f *netfilter.Fact) {
	if m.Invert {
		addOther(&f.Conditions, m.Name())
		return
	}
	addStates(&f.Conditions, m.States)
}

var stateExtension = &extension{
	name:     "state",
	options:  []optionSpec{{name: "state", invert: true, mandatory: true}},
	newMatch: func() matchParser { return &stateParser{} },
}

type stateParser struct {
	m     MatchState
	arena arena[MatchState]
}

func (p *stateParser) begin(netfilter.Family) { p.m = MatchState{} }

func (p *stateParser) option(o *optionCall) error {
	states, bad := stateNames.parse(o.arg)
	switch {
	case bad != nil && len(bad) == 0:
		return badParameter("\"--state\" requires a list of states with no spaces, e.g. ESTABLISHED,RELATED")
	case bad != nil:
		return badParameter("Bad state \"%s\"", bad)
	}
	p.m = MatchState{States: CTState(states), Invert: o.invert}
	return nil
}

func (p *stateParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
