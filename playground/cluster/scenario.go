package cluster

import (
	"context"
	"strings"

	"github.com/chainwalk/chainwalk/playground/rules"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/page/report"
	"github.com/chainwalk/chainwalk/scenarios/format/mistake"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// file is what errors call the scenario.
const file = "scenario.yaml"

// Checked is what is wrong with a scenario, or likely to be.
type Checked struct {
	Problems []rules.Problem `json:"problems"`
	Steps    int             `json:"steps"`
	Objects  int             `json:"objects"`
}

// Check reads a scenario and finds mistakes in it, as "chainwalk check" does.
func Check(text string) Checked {
	out := Checked{Problems: []rules.Problem{}}
	if strings.TrimSpace(text) == "" {
		return out
	}
	s, err := read(text)
	if err != nil {
		out.Problems = append(out.Problems, problemsOf(err)...)
		return out
	}
	out.Steps, out.Objects = len(s.Steps), len(s.Objects)
	for _, m := range mistake.InScenario(s) {
		out.Problems = append(out.Problems, problemAt(m.Position, m.Msg, true))
	}
	return out
}

// read reads a scenario. What it could include are files, and a browser has none.
func read(text string) (*scenarios.Scenario, error) {
	return scenarios.Read(file, strings.NewReader(text))
}

// Ran is what came of a scenario.
type Ran struct {
	Problems []rules.Problem `json:"problems"` // of the text, which was not run then
	Held     bool            `json:"held"`
	// Body is the page of the run without its head. All that others wrote is escaped in it.
	Body string `json:"body"`
}

// Run runs a scenario on the simulator, and tells the way of each packet.
func Run(text string) (Ran, error) {
	s, err := read(text)
	if err != nil {
		return Ran{Problems: problemsOf(err)}, nil
	}
	result := scenarios.Run(context.Background(), s, sim.Backend{})
	var body strings.Builder
	err = report.RunBody(&body, []*scenarios.Result{result}, report.RunOptions{Ways: scenarios.WaysAll})
	return Ran{Problems: []rules.Problem{}, Held: !result.Failed(), Body: body.String()}, err
}
