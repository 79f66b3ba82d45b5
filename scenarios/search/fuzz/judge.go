package fuzz

import (
	"context"
	"fmt"
	"io"
	"strings"

	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/trial"
)

// Judgement is what came of judging stored scenarios.
type Judgement struct {
	scenarios  int
	figures    trial.Figures
	Violations []string
}

// Judge has the specification judge scenarios, whatever they expect themselves, with each
// variant of the tools that they name. A scenario that cannot be judged is an error.
func Judge(ctx context.Context, list []*scenarios.Scenario, o trial.Options) (*Judgement, error) {
	ctx = klog.NewContext(ctx, klog.New(nil))
	out := &Judgement{scenarios: len(list)}
	for _, s := range list {
		tools := s.IPTables.Dialects
		if len(tools) == 0 {
			tools = []netfilter.Dialect{netfilter.Legacy, netfilter.NFT}
		}
		for _, o.Dialect = range tools {
			report, err := trial.Run(ctx, s, o)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.Pos.File, err)
			}
			out.figures.Merge(&report.Figures)
			for _, f := range report.Violations {
				seen := Failure{Step: f.Step, Node: f.Node, Within: pointOf(f.Point)}
				out.Violations = append(out.Violations, fmt.Sprintf("%s (%s): %s %s\n      want %s\n      got  %s",
					s.Pos.File, o.Dialect, f.Clause.Name, seen.Where(), f.Want, f.Got))
			}
		}
	}
	return out, nil
}

// WriteText prints the verdict for people.
func (v *Judgement) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, f := range v.Violations {
		fmt.Fprintf(&b, "FAIL  %s\n", f)
	}
	fmt.Fprintf(&b, "%d scenarios: %d states judged by %d connections and %d packets of kept ones, %d findings\n",
		v.scenarios, v.figures.States, v.figures.Connections, v.figures.Packets, len(v.Violations))
	_, err := io.WriteString(w, b.String())
	return err
}
