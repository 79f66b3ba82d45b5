package predict

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/internal/chance"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// Judge foretells what becomes of probes, and judges what became of them. It is for one goroutine.
type Judge struct {
	state  func(context.Context) (*State, error)
	none   string
	now    *network // nil: what is known is old
	kept   map[string]keptConnection
	tested int // counts that were held against probabilities
}

type keptConnection struct {
	attempt scenarios.Attempt
	way     scenarios.Way
}

// NewJudge judges by what a state of the cluster shows. It is asked for again after each change.
func NewJudge(state func(context.Context) (*State, error)) *Judge {
	return &Judge{state: state, kept: map[string]keptConnection{}}
}

// Nothing is a Judge that has no prediction, and says why: what an eBPF or IPVS proxy does is not simulated.
func Nothing(why string) *Judge { return &Judge{none: why, kept: map[string]keptConnection{}} }

// Changed says that something on the cluster is another now: its objects, rules, pods, listeners, connections.
func (j *Judge) Changed() { j.now = nil }

// FalseAlarm is a bound for the probability that counts of all probes so far are called wrong, though each came of its probability.
func (j *Judge) FalseAlarm() float64 { return float64(j.tested) * 2 * chance.TooRare }

// look is the cluster as it is now.
func (j *Judge) look(ctx context.Context) (*network, error) {
	if j.now != nil {
		return j.now, nil
	}
	v, err := j.state(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at the cluster: %w", err)
	}
	j.now, err = v.build()
	return j.now, err
}

// Forecast is what is to come of one probe.
type Forecast struct {
	judge *Judge
	proto inet.Proto
	ways  []scenarios.Way
	none  string
	// partly says why the probabilities are not known; empty if they are.
	partly string
}

// Told is the forecast in other words, way by way: names and addresses of a scenario, where those of the cluster are others.
func (f *Forecast) Told(way func(scenarios.Way) scenarios.Way) *Forecast {
	told := *f
	told.ways = slices.Clone(f.ways)
	for i := range told.ways {
		told.ways[i] = way(told.ways[i])
	}
	return &told
}

// Heard reports whether an answer or a refusal comes back on some of the ways, and on all. It is not known of what nobody foretells, and
// of what leaves the cluster.
func (f *Forecast) Heard() (some, all, known bool) {
	all, known = true, len(f.ways) > 0
	for i := range f.ways {
		switch outcomeOf(f.proto, &f.ways[i]).kind {
		case answered, refused:
			some = true
		case left:
			all, known = false, false
		case silent:
			all = false
		}
	}
	return some, all && known, known
}

// Connect foretells a connection, before it is made: the attempt as it will be, in the cluster's own names and addresses.
func (j *Judge) Connect(ctx context.Context, a scenarios.Attempt) (*Forecast, error) {
	if j.none != "" {
		return &Forecast{none: j.none}, nil
	}
	n, err := j.look(ctx)
	if err != nil {
		return nil, err
	}
	if a.Keep != "" {
		j.Changed()
	}
	proto := plan.Proto(a.To.Proto, a.To.Addr().Is6())
	if a.Bind.Port == 0 {
		a.Bind.Port = n.freePort(proto)
	}
	f, err := j.forecast(n, proto, func(n *network) (*scenarios.Observed, error) { return n.Connect(a) })
	if err != nil {
		return nil, fmt.Errorf("predict %s from %s: %w", a.To, a.From, err)
	}
	return f, nil
}

// Keep notes a connection whose later packets will be foretold: the attempt, and the way that it took, with the addresses of both ends as
// they know them.
func (j *Judge) Keep(a scenarios.Attempt, way scenarios.Way) {
	j.kept[a.Keep] = keptConnection{a, way}
	j.Changed()
}

// Follow foretells a later packet of a connection that was kept, before it is sent.
func (j *Judge) Follow(ctx context.Context, p scenarios.FlowPacket) (*Forecast, error) {
	if j.none != "" {
		return &Forecast{none: j.none}, nil
	}
	kept, known := j.kept[p.Of]
	if !known {
		return nil, fmt.Errorf("predict a packet of %s: no connection was kept under that name", p.Of)
	}
	n, err := j.look(ctx)
	if err != nil {
		return nil, err
	}
	j.Changed() // what the packet does stays
	proto := plan.Proto(kept.attempt.To.Proto, kept.attempt.To.Addr().Is6())
	f, err := j.forecast(n, proto, func(n *network) (*scenarios.Observed, error) {
		flow, err := n.Resume(kept.attempt, &kept.way)
		if err != nil {
			return nil, err
		}
		return n.Follow(flow, kept.attempt, p)
	})
	if err != nil {
		return nil, fmt.Errorf("predict a packet of %s: %w", p.Of, err)
	}
	return f, nil
}

// Send foretells a packet that is given to one node, before it is: by a device that the node has, or from a pod.
func (j *Judge) Send(ctx context.Context, node string, in inet.Input) (*Forecast, error) {
	if j.none != "" {
		return &Forecast{none: j.none}, nil
	}
	n, err := j.look(ctx)
	if err != nil {
		return nil, err
	}
	f, err := j.forecast(n, in.Proto, func(n *network) (*scenarios.Observed, error) { return n.Send(node, in) })
	if err != nil {
		return nil, fmt.Errorf("predict a packet given to %s: %w", node, err)
	}
	return f, nil
}

// forecast asks the network what comes of a probe. Where the order of rules is not known, and it matters, what can come is
// known, and not how often.
func (j *Judge) forecast(n *network, proto inet.Proto, ask func(*network) (*scenarios.Observed, error)) (*Forecast, error) {
	seen, err := ask(n)
	if err != nil {
		return nil, err
	}
	f := &Forecast{judge: j, proto: proto, ways: seen.Ways}
	if len(n.remembered) > 0 && slices.ContainsFunc(seen.Ways, asksForClients) {
		f.partly = "clients are remembered that a snapshot does not have (" + strings.Join(n.remembered, ", ") + ")"
	}
	if n.turned == nil {
		return f, nil
	}
	if seen, err = ask(n.turned); err == nil && !slices.Equal(sharesOf(proto, f.ways), sharesOf(proto, seen.Ways)) {
		f.ways, f.partly = slices.Concat(f.ways, seen.Ways), "it is not known which of both iptables' rules packets meet first"
	}
	return f, err
}

// asksForClients reports whether a rule on a way remembers clients.
func asksForClients(w scenarios.Way) bool {
	return slices.ContainsFunc(slices.Concat(w.Forward, w.Back), func(h scenarios.Hop) bool {
		return slices.ContainsFunc(h.Steps, func(s scenarios.TraceStep) bool { return strings.Contains(s.Rule, "-m recent") })
	})
}
