package trial

import (
	"strings"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// connectOf is an attempt as a step makes it.
func connectOf(a oracle.Attempt) scenarios.Connect {
	return scenarios.Connect{
		From: a.From, Via: a.Via, Bind: scenarios.Bind{Addr: a.Source.Addr(), Port: a.Source.Port()},
		To: scenarios.Target{Proto: strings.ToLower(string(a.Protocol)), AddrPort: a.To},
	}
}

// checksOf are steps that expect of an attempt what the specification allows; none if the
// format has no words for it.
func checksOf(a oracle.Attempt, answer *oracle.Answer) []scenarios.Step {
	c := connectOf(a)
	var ok bool
	if c.Expect, ok = scenarios.ExpectOf(answer); !ok {
		return nil
	}
	return []scenarios.Step{{Connect: &c}}
}
