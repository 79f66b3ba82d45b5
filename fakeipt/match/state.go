package match

import (
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// State is -m state, the older spelling of -m conntrack --ctstate.
type State struct {
	States CTState
	Invert bool
}

// Name is "state".
func (*State) Name() string { return "state" }

func (m *State) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.States.append(append(xtables.AppendOption(dst, "--state", m.Invert), ' '))
}

func (m *State) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return m.States.append(append(xtables.AppendOption(dst, "state", m.Invert), ' '))
}

func (m *State) AddFact(f *netfilter.Fact) {
	if m.Invert {
		xtables.AddOther(&f.Conditions, m.Name())
		return
	}
	addStates(&f.Conditions, m.States)
}

var stateExtension = &xtables.Extension{
	Name:     "state",
	Options:  []xtables.Option{{Name: "state", Invert: true, Mandatory: true}},
	NewMatch: func() xtables.MatchParser { return &stateParser{} },
}

type stateParser struct {
	m     State
	arena xtables.Arena[State]
}

func (p *stateParser) Begin(netfilter.Family) { p.m = State{} }

func (p *stateParser) Option(o *xtables.OptionCall) error {
	states, bad := stateNames.Parse(o.Arg)
	switch {
	case bad != nil && len(bad) == 0:
		return xtables.BadParameter("\"--state\" requires a list of states with no spaces, e.g. ESTABLISHED,RELATED")
	case bad != nil:
		return xtables.BadParameter("Bad state \"%s\"", bad)
	}
	p.m = State{States: CTState(states), Invert: o.Invert}
	return nil
}

func (p *stateParser) Finish(uint32) (xtables.Match, error) { return p.arena.Intern(p.m), nil }
