package kind

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

const (
	protoICMP = "icmp"
	// clientPort is that of a client that does not say it.
	clientPort = 40000
	// atOnce is how many connections of a table are made at the same time.
	atOnce = 16
)

// traffic is what the scenario sends: connections, later packets of those that are kept, single packets.
type traffic struct {
	*stage
	*keptFlows
	*outlooks
	knows   *knowledge
	sockets *sockets
	links   *links
	memory  *memory
	still   *still
	failing *failing
	watches atomic.Int64 // so far
	sent    uint32       // raw packets so far
}

// Connect makes a connection.
func (t *traffic) Connect(ctx context.Context, a scenarios.Attempt) (*scenarios.Observed, error) {
	if err := t.ready(ctx, []scenarios.Attempt{a}); err != nil {
		return nil, err
	}
	var seen *scenarios.Observed
	err := t.whileWatched(ctx, []scenarios.Attempt{a}, func(w *watch) (err error) {
		if a.Keep == "" {
			seen, err = t.observe(ctx, w, a)
		} else {
			seen, err = t.keep(ctx, w, a)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s from %s: %w", a.To, a.From, err)
	}
	return seen, nil
}

// ConnectAll makes connections of which none is kept, several at a time: those by one node together, as the container outside has one
// route to an address. Where clients are remembered they are made one by one.
func (t *traffic) ConnectAll(ctx context.Context, attempts []scenarios.Attempt) ([]*scenarios.Observed, error) {
	out := make([]*scenarios.Observed, len(attempts))
	for _, these := range t.batches(attempts) {
		if err := t.connectTogether(ctx, attempts, these, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// batches are the indexes of connections that can be made at the same time, in the order of the first of each.
func (t *traffic) batches(attempts []scenarios.Attempt) (out [][]int) {
	byVia := map[string]int{}
	for i := range attempts {
		if t.knows.sticky(attempts[i].To.AddrPort) {
			out = append(out, []int{i})
			continue
		}
		at, known := byVia[attempts[i].Via]
		if !known {
			at = len(out)
			byVia[attempts[i].Via] = at
			out = append(out, nil)
		}
		out[at] = append(out[at], i)
	}
	return out
}

// connectTogether makes those of connections that have these indexes.
func (t *traffic) connectTogether(ctx context.Context, all []scenarios.Attempt, these []int, out []*scenarios.Observed) error {
	var attempts []scenarios.Attempt
	for _, i := range these {
		attempts = append(attempts, all[i])
	}
	if err := t.ready(ctx, attempts); err != nil {
		return err
	}
	return t.whileWatched(ctx, attempts, func(w *watch) error {
		errs := make([]error, len(attempts))
		room := make(chan struct{}, atOnce)
		var group sync.WaitGroup
		for i, place := range these {
			room <- struct{}{}
			group.Go(func() {
				defer func() { <-room }()
				if out[place], errs[i] = t.observe(ctx, w, attempts[i]); errs[i] != nil {
					errs[i] = fmt.Errorf("%s from %s: %w", attempts[i].To, attempts[i].From, errs[i])
				}
			})
		}
		group.Wait()
		return errors.Join(errs...)
	})
}

// whileWatched does something with the clients of connections while they, the nodes and the container outside look on.
func (t *traffic) whileWatched(ctx context.Context, attempts []scenarios.Attempt, do func(*watch) error) error {
	var clients []agent
	for i := range attempts {
		if from, ok := t.mapping.Host(attempts[i].From); ok {
			clients = append(clients, agent{from.Machine, from.Agent})
		}
	}
	w, err := t.startWatch(ctx, clients...)
	if err == nil {
		err = do(w)
	}
	return errors.Join(err, w.end(ctx))
}

// ready makes the routes and listeners that connections need.
func (t *traffic) ready(ctx context.Context, attempts []scenarios.Attempt) error {
	byVia := map[string][]netip.Addr{}
	for i := range attempts {
		a := &attempts[i]
		byVia[a.Via] = append(byVia[a.Via], a.To.Addr())
		t.sockets.everyPort(a.To.Addr(), a.To.Proto, a.To.Port())
	}
	for via, addresses := range byVia {
		if err := t.leadNowhere(ctx, addresses, via); err != nil {
			return err
		}
	}
	return t.sockets.serve(ctx)
}

// dialOf is a connection as an agent is asked for it. A client whose connection is not kept has any port.
func (t *traffic) dialOf(a *scenarios.Attempt) (Host, probe.Dial, error) {
	from, ok := t.mapping.Host(a.From)
	if !ok {
		return from, probe.Dial{}, fmt.Errorf("there is no %s in the cluster", a.From)
	}
	v6 := a.To.Addr().Is6()
	d := probe.Dial{Proto: protoOf(a.To.Proto, a.To.Addr()), To: t.mapping.ToPort(a.To.AddrPort), Timeout: t.silence(t.outlook(*a)),
		First: true, Keep: a.Keep}
	source := netip.Addr{}
	switch {
	case a.Bind.Addr.IsValid():
		source = t.mapping.To(a.Bind.Addr)
	case t.cluster.Node(a.From) == nil:
		source = ofFamily(from.Addresses, v6)
	}
	port := uint16(0)
	if a.Keep != "" {
		port = portOf(a)
	}
	if source.IsValid() || port > 0 {
		if !source.IsValid() {
			source = unspecified(v6)
		}
		d.From = netip.AddrPortFrom(source, port)
	}
	return from, d, nil
}

// portOf is the client's port in the scenario.
func portOf(a *scenarios.Attempt) uint16 {
	switch {
	case a.To.Proto == protoICMP:
		return 0
	case a.Bind.Port > 0:
		return a.Bind.Port
	}
	return clientPort
}

// chancy reports whether chance may have a part in where a connection goes. Rules that are older than the objects may have more endpoints.
func (t *traffic) chancy(at netip.AddrPort) bool {
	return t.knows.chancy(at) || (t.still.stale() || len(t.failing.nodes) > 0) && len(t.knows.called(at)) > 0
}

// observe makes a connection that is not kept, as often as chance asks for.
func (t *traffic) observe(ctx context.Context, w *watch, a scenarios.Attempt) (*scenarios.Observed, error) {
	a.Keep = ""
	times := 1
	if t.chancy(a.To.AddrPort) {
		times = t.backend.options.Samples
	}
	if t.knows.sticky(a.To.AddrPort) {
		return t.observeForgetting(ctx, w, a, times)
	}
	ways, err := t.tryWays(ctx, w, &a, times)
	if err != nil {
		return nil, err
	}
	return observed(ways), nil
}

// stickySamples is how often a connection is made where a node has to forget the client each time, which takes longer. It shows as well
// whether there is a choice at all.
const stickySamples = 30

// silentSamples is how often, where silence alone is foretold: each takes as long as a client waits.
const silentSamples = 2

// observeForgetting makes connections one by one, and has the nodes forget the client each time.
func (t *traffic) observeForgetting(ctx context.Context, w *watch, a scenarios.Attempt, times int) (*scenarios.Observed, error) {
	nodes := t.deciding(&a)
	before, err := t.memory.entries(ctx, nodes)
	if err != nil {
		return nil, err
	}
	all, err := t.tryWays(ctx, w, &a, 1)
	if err != nil {
		return nil, err
	}
	after, err := t.memory.entries(ctx, nodes)
	if err != nil {
		return nil, err
	}
	rest := min(times, stickySamples) - 1
	if t.outlook(a) == SilenceForetold {
		rest = min(rest, silentSamples-1)
	}
	if maps.Equal(before, after) { // no rule has remembered the client, as none does that stops a packet
		if rest == 0 {
			return observed(all), nil
		}
		ways, err := t.tryWays(ctx, w, &a, rest)
		return observed(append(all, ways...)), err
	}
	for ; rest > 0; rest-- {
		if err := t.memory.forget(ctx, nodes, before); err != nil {
			return nil, err
		}
		ways, err := t.tryWays(ctx, w, &a, 1)
		if err != nil {
			return nil, err
		}
		all = append(all, ways...)
	}
	return observed(all), t.memory.forget(ctx, nodes, before)
}

// watchedSamples is how many connections are looked at on their way, where chance has a part in it.
const watchedSamples = 20

// tryWays makes a connection so many times, and says what came of each. Where the two ends do not tell of each, what was seen on the way
// tells of the first ones.
func (t *traffic) tryWays(ctx context.Context, w *watch, a *scenarios.Attempt, times int) ([]scenarios.Way, error) {
	from, d, err := t.dialOf(a)
	if err != nil {
		return nil, err
	}
	d.Times = times
	results, err := t.relay(from.Machine).Dial(ctx, from.Agent, d)
	if err != nil {
		return nil, err
	}
	var ways []scenarios.Way
	for i := range results {
		way, told := t.wayOf(a, &results[i])
		if !told {
			return t.watchedWays(ctx, w, agent{from.Machine, from.Agent}, a, results[:min(len(results), watchedSamples)])
		}
		ways = append(ways, way)
	}
	return ways, t.completeICMP(ctx, d.Proto, results, ways)
}

func (t *traffic) watchedWays(ctx context.Context, w *watch, client agent, a *scenarios.Attempt,
	results []probe.Result) ([]scenarios.Way, error) {
	ways := make([]scenarios.Way, len(results))
	for i := range results {
		var err error
		if ways[i], err = t.watchedWay(ctx, w, client, a, &results[i]); err != nil {
			return nil, err
		}
	}
	return ways, nil
}

// completeICMP finds out from the agents that were asked which client they saw: an echo reply does not say it.
func (s *stage) completeICMP(ctx context.Context, proto inet.Proto, results []probe.Result, ways []scenarios.Way) error {
	if !proto.IsICMP() {
		return nil
	}
	for i := range ways {
		host, ok := s.mapping.Host(ways[i].Host)
		if !ok || ways[i].End != scenarios.Delivered {
			continue
		}
		came, err := s.relay(host.Machine).Arrivals(ctx, host.Agent, probe.Arrived{Token: results[i].Token, Wait: s.silence(AnswerForetold)})
		if err != nil {
			return err
		}
		if len(came) > 0 {
			ways[i].Client = netip.AddrPortFrom(s.mapping.Back(came[0].Client.Addr()), 0)
			ways[i].Masqueraded = translated(&ways[i])
		}
	}
	return nil
}
