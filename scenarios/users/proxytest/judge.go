package proxytest

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// Failure is a connection of which the specification does not allow what became of it.
type Failure struct {
	oracle.Violation
	// After is the endpoint that a connection of the same client reached before; it is not valid if there was none.
	After netip.AddrPort
	// Ways are the ways that its first packet can take, with the rules that it meets.
	Ways []scenarios.Way
}

// Judge tries a connection of every packet class, and of those to services with session affinity a second one of the same client, and
// says what the specification does not allow. How long a service remembers a client it does not try: a scenario with a step advance does.
func (c *Cluster) Judge() ([]Failure, error) {
	spec := oracle.New(c.world.Plan().Oracle(c.objects()))
	var out []Failure
	for _, a := range spec.Attempts() {
		ways, err := c.world.Reach(a)
		if err != nil {
			return nil, err
		}
		violations := spec.Judge(a, ways)
		failures, err := c.failures(a, violations)
		if err != nil {
			return nil, err
		}
		if len(violations) == 0 {
			if failures, err = c.judgeAgain(spec, a); err != nil {
				return nil, err
			}
		}
		out = append(out, failures...)
	}
	return out, nil
}

// failures are violations with the ways of their packet.
func (c *Cluster) failures(a oracle.Attempt, violations []oracle.Violation) ([]Failure, error) {
	if len(violations) == 0 {
		return nil, nil
	}
	seen, err := c.world.Connect(context.Background(), scenarios.Attempt{
		From: a.From, Bind: scenarios.Bind{Addr: a.Source.Addr(), Port: a.Source.Port()},
		To: scenarios.Target{Proto: strings.ToLower(string(a.Protocol)), AddrPort: a.To}, Via: a.Via,
	})
	if err != nil {
		return nil, err
	}
	var out []Failure
	for _, v := range violations {
		out = append(out, Failure{Violation: v, Ways: seen.Ways})
	}
	return out, nil
}

// secondPort is the client's port of a second connection.
const secondPort = 40001

// judgeAgain tries the attempt once more after a connection of the same client, if its service is to remember who called: after one to the
// first of its endpoints, and after one to the last.
func (c *Cluster) judgeAgain(spec *oracle.Spec, a oracle.Attempt) ([]Failure, error) {
	answer := spec.Expect(a)
	if answer.Fate != oracle.ToEndpoint || answer.Open || len(answer.Others) > 0 || !c.remembers(answer.Service) {
		return nil, nil
	}
	var out []Failure
	for _, place := range slices.Compact([]int{0, len(answer.Endpoints) - 1}) {
		failures, err := c.judgeAfter(spec, a, answer.Endpoints[place])
		if err != nil {
			return nil, err
		}
		out = append(out, failures...)
	}
	return out, nil
}

// judgeAfter tries the attempt once more after it has reached an endpoint, and forgets both.
func (c *Cluster) judgeAfter(spec *oracle.Spec, a oracle.Attempt, endpoint netip.AddrPort) ([]Failure, error) {
	defer c.world.Checkpoint()()
	kept, err := c.world.Keep(a, endpoint)
	if err != nil {
		return nil, err
	}
	first := kept.Way()
	if first.End != oracle.Delivered || !first.Heard {
		return nil, nil
	}
	var affinity oracle.Affinity
	var now time.Time
	affinity.Made(spec, a, first, now)
	a.Source = netip.AddrPortFrom(first.Sender.Addr(), secondPort)
	ways, err := c.world.Reach(a)
	if err != nil {
		return nil, err
	}
	failures, err := c.failures(a, affinity.Judge(spec, a, now, ways))
	for i := range failures {
		failures[i].After = endpoint
	}
	return failures, err
}

// remembers says whether a service has session affinity.
func (c *Cluster) remembers(service types.NamespacedName) bool {
	return slices.ContainsFunc(c.Services(), func(s *corev1.Service) bool {
		return s.Namespace == service.Namespace && s.Name == service.Name && s.Spec.SessionAffinity == corev1.ServiceAffinityClientIP
	})
}

// objects are what the API holds now.
func (c *Cluster) objects() []manifest.Object {
	var out []manifest.Object
	for _, n := range c.nodes {
		if object := c.world.Knowledge(n.Name).Node; object != nil {
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
	if f.After.IsValid() {
		fmt.Fprintf(&b, ", again after a connection to %s", f.After)
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
