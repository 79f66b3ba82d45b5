package scenarios

import (
	"slices"
	"strings"
)

// Pair names two of the three columns of a check: what is expected, what a prediction says, and what was seen.
type Pair string

// The pairs.
const (
	ExpectedGot       Pair = "expected and got"
	PredictedGot      Pair = "predicted and got"
	ExpectedPredicted Pair = "expected and predicted"
)

// Pairs are all of them.
func Pairs() []Pair { return []Pair{ExpectedGot, PredictedGot, ExpectedPredicted} }

// Disagreement says how two columns of a check are not the same.
type Disagreement struct {
	Between Pair   `json:"between"`
	Why     string `json:"why"`
}

// foretold puts beside a check what was predicted of it, and holds the three columns to one another. Where chances were counted, a
// prediction has exact ones, so that an expectation is held to them as a simulation's.
func (c *Check) foretold(j *judge) {
	p := j.seen.Prediction
	if p == nil {
		return
	}
	c.Predicted, c.PredictedWays, c.PredictedInPart = p.String(), p.Ways, p.Partly != ""
	var wrongs []string
	for _, d := range []Disagreement{{ExpectedGot, c.Wrong}, {PredictedGot, p.Wrong}, {ExpectedPredicted, j.ofPrediction(p)}} {
		if d.Why == "" {
			continue
		}
		c.Disagreements = append(c.Disagreements, d)
		if text := prefixOf[d.Between] + d.Why; !slices.Contains(wrongs, d.Why) {
			wrongs = append(wrongs, text)
		}
	}
	c.Wrong, c.Passed = strings.Join(wrongs, "; "), len(wrongs) == 0
}

// prefixOf tells the columns of a disagreement in a check's Wrong. What was seen is not as expected where nothing else is said.
var prefixOf = map[Pair]string{PredictedGot: "not as predicted: ", ExpectedPredicted: "the prediction is not as expected: "}

// ofPrediction says what of a prediction is not as expected; empty if everything is, or nothing is predicted. The cluster's rules have
// other addresses and other rules beside them, so that texts and numbers of rules are not looked at.
func (j *judge) ofPrediction(p *Prediction) string {
	if p.None != "" {
		return ""
	}
	predicted := *j
	predicted.seen, predicted.possible = &Observed{Ways: p.Ways, NoRules: true}, p.Partly != ""
	wrong, _ := predicted.verdict()
	return wrong
}
