package proxytest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/manifest"
	"github.com/chainwalk/chainwalk/scenarios/oracle"
)

// Failure is a connection of which the specification does not allow what became of it.
type Failure struct {
	oracle.Violation
	// Ways are the ways that its first packet can take, with the rules that it meets.
	Ways []scenarios.Way
}

// Judge tries a connection of every packet class and says what the specification does not allow.
func (c *Cluster) Judge() ([]Failure, error) {
	spec := oracle.New(c.world.Plan().Oracle(c.objects()))
	var out []Failure
	for _, a := range spec.Attempts() {
		ways, err := c.world.Reach(a)
		if err != nil {
			return nil, err
		}
		violations := spec.Judge(a, ways)
		if len(violations) == 0 {
			continue
		}
		seen, err := c.world.Connect(context.Background(), scenarios.Attempt{
			From: a.From, Bind: scenarios.Bind{Addr: a.Source.Addr(), Port: a.Source.Port()},
			To: scenarios.Target{Proto: strings.ToLower(string(a.Protocol)), AddrPort: a.To}, Via: a.Via,
		})
		if err != nil {
			return nil, err
		}
		for _, v := range violations {
			out = append(out, Failure{Violation: v, Ways: seen.Ways})
		}
	}
	return out, nil
}

// objects are what the API holds now.
func (c *Cluster) objects() []manifest.Object {
	var out []manifest.Object
	for _, n := range c.nodes {
		if object := c.world.View(n.Name).Node; object != nil {
			out = append(out, manifest.Object{Object: object})
		}
	}
	for _, s := range c.Services() {
		out = append(out, manifest.Object{Object: s})
	}
	for _, s := range c.EndpointSlices() {
		out = append(out, manifest.Object{Object: s})
	}
	return out
}

// Test judges, and reports every failure as an error of the test.
func (c *Cluster) Test(t testing.TB) {
	t.Helper()
	failures, err := c.Judge()
	if err != nil {
		t.Fatal(err)
	}
	for i := range failures {
		t.Error(failures[i].String())
	}
}

// String tells what is broken, by which packet, and its ways.
func (f *Failure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", f.Clause.Name, f.Clause.Text)
	fmt.Fprintf(&b, "  packet: %s %s from %s", f.Attempt.Protocol, f.Attempt.To, f.Attempt.From)
	if f.Attempt.Via != "" {
		fmt.Fprintf(&b, " by %s", f.Attempt.Via)
	}
	fmt.Fprintf(&b, "\n  want: %s\n  got:  %s\n", f.Want, f.Got)
	for i := range f.Ways {
		w := &f.Ways[i]
		fmt.Fprintf(&b, "  way %d of %d, probability %.4g\n", i+1, len(f.Ways), w.Probability)
		for _, hop := range w.Forward {
			fmt.Fprintf(&b, "    %s: %s\n", hop.Host, hop.Packet)
			for _, step := range hop.Steps {
				fmt.Fprintf(&b, "      %s\n", step.String())
			}
			fmt.Fprintf(&b, "      %s\n", hop.Result)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
