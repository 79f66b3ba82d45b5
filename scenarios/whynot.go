package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
	"github.com/chainwalk/chainwalk/scenarios/explain/whynot"
)

// whyNot says of the ways of a first packet which endpoints they do not lead to that could have been expected, and why. What it takes to
// know that is made once for a state of the cluster.
func (r *runner) whyNot(ways []Way) whynot.Answer {
	if r.why == nil {
		r.why = func([]Way) whynot.Answer { return whynot.Answer{} }
		if s, ok := r.session.(WhySession); ok {
			r.why = s.WhyNot(r.objects.List(), r.names())
		}
	}
	return r.why(ways)
}

// names are the names of all objects that the scenario has at some time.
func (r *runner) names() *names.Book {
	if r.book == nil {
		r.book = names.New(slices.Concat(r.cluster.Objects, r.scenario.ever()))
	}
	return r.book
}

// fewUnreached is as many endpoints and rules that were not reached as a person wants to read, and fewestUnreached where the ways are not
// wanted.
const fewUnreached, fewestUnreached = 12, 3

// textUnreached says what was not reached, at most so many.
func textUnreached(b *strings.Builder, list []story.Unreached, most int) {
	for i, u := range list {
		if i == 0 {
			b.WriteString("    not reached:\n")
		}
		if i == most {
			fmt.Fprintf(b, "      and %d more (-o json has them)\n", len(list)-i)
			return
		}
		fmt.Fprintf(b, "      %s: %s\n", u.What, u.Why)
	}
}
