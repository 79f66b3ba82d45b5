package kind

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"sync"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios"
)

const (
	protoICMP = "icmp"
	// clientPort is that of a client that does not say it.
	clientPort = 40000
	// atOnce is how many connections of a table are made at the same time.
	atOnce = 16
)

// Connect makes a connection.
func (s *Session) Connect(ctx context.Context, a scenarios.Attempt) (*scenarios.Observed, error) {
	if err := s.ready(ctx, []scenarios.Attempt{a}); err != nil {
		return nil, err
	}
	var seen *scenarios.Observed
	err := s.whileWatched(ctx, []scenarios.Attempt{a}, func(w *watch) (err error) {
		if a.Keep == "" {
			seen, err = s.observe(ctx, w, a)
		} else {
			seen, err = s.keep(ctx, w, a)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s from %s: %w", a.To, a.From, err)
	}
	return seen, nil
}

// ConnectAll makes connections of which none is kept, several at a time: those by one node together, as the container outside has one route to
// an address. Where clients are remembered they are made one by one.
func (s *Session) ConnectAll(ctx context.Context, attempts []scenarios.Attempt) ([]*scenarios.Observed, error) {
	out := make([]*scenarios.Observed, len(attempts))
	for _, these := range s.batches(attempts) {
		if err := s.connectTogether(ctx, attempts, these, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// batches are the indexes of connections that can be made at the same time, in the order of the first of each.
func (s *Session) batches(attempts []scenarios.Attempt) (out [][]int) {
	byVia := map[string]int{}
	for i := range attempts {
		if s.knows.sticky(attempts[i].To.AddrPort) {
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
func (s *Session) connectTogether(ctx context.Context, all []scenarios.Attempt, these []int, out []*scenarios.Observed) error {
	var attempts []scenarios.Attempt
	for _, i := range these {
		attempts = append(attempts, all[i])
	}
	if err := s.ready(ctx, attempts); err != nil {
		return err
	}
	return s.whileWatched(ctx, attempts, func(w *watch) error {
		errs := make([]error, len(attempts))
		room := make(chan struct{}, atOnce)
		var group sync.WaitGroup
		for i, place := range these {
			room <- struct{}{}
			group.Go(func() {
				defer func() { <-room }()
				if out[place], errs[i] = s.observe(ctx, w, attempts[i]); errs[i] != nil {
					errs[i] = fmt.Errorf("%s from %s: %w", attempts[i].To, attempts[i].From, errs[i])
				}
			})
		}
		group.Wait()
		return errors.Join(errs...)
	})
}

// whileWatched does something with the clients of connections while they, the nodes and the container outside look on.
func (s *Session) whileWatched(ctx context.Context, attempts []scenarios.Attempt, do func(*watch) error) error {
	var clients []agent
	for i := range attempts {
		if from, ok := s.mapping.Host(attempts[i].From); ok {
			clients = append(clients, agent{from.Machine, from.Agent})
		}
	}
	w, err := s.startWatch(ctx, clients...)
	if err == nil {
		err = do(w)
	}
	return errors.Join(err, w.end(ctx))
}

// ready makes the routes and listeners that connections need.
func (s *Session) ready(ctx context.Context, attempts []scenarios.Attempt) error {
	byVia := map[string][]netip.Addr{}
	for i := range attempts {
		a := &attempts[i]
		byVia[a.Via] = append(byVia[a.Via], a.To.Addr())
		s.sockets.everyPort(a.To.Addr(), a.To.Proto, a.To.Port())
	}
	for via, addresses := range byVia {
		if err := s.leadNowhere(ctx, addresses, via); err != nil {
			return err
		}
	}
	return s.sockets.serve(ctx)
}

// dialOf is a connection as an agent is asked for it. A client whose connection is not kept has any port.
func (s *Session) dialOf(a *scenarios.Attempt) (Host, probe.Dial, error) {
	from, ok := s.mapping.Host(a.From)
	if !ok {
		return from, probe.Dial{}, fmt.Errorf("there is no %s in the cluster", a.From)
	}
	v6 := a.To.Addr().Is6()
	d := probe.Dial{Proto: protoOf(a.To.Proto, a.To.Addr()), To: s.mapping.ToPort(a.To.AddrPort), Timeout: s.silence(s.outlook(*a)), First: true, Keep: a.Keep}
	source := netip.Addr{}
	switch {
	case a.Bind.Addr.IsValid():
		source = s.mapping.To(a.Bind.Addr)
	case s.cluster.Node(a.From) == nil:
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
func (s *Session) chancy(at netip.AddrPort) bool {
	return s.knows.chancy(at) || (s.still.stale() || len(s.failing.nodes) > 0) && len(s.knows.called(at)) > 0
}

// observe makes a connection that is not kept, as often as chance asks for.
func (s *Session) observe(ctx context.Context, w *watch, a scenarios.Attempt) (*scenarios.Observed, error) {
	a.Keep = ""
	times := 1
	if s.chancy(a.To.AddrPort) {
		times = s.backend.options.Samples
	}
	if s.knows.sticky(a.To.AddrPort) {
		return s.observeForgetting(ctx, w, a, times)
	}
	ways, err := s.tryWays(ctx, w, &a, times)
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
func (s *Session) observeForgetting(ctx context.Context, w *watch, a scenarios.Attempt, times int) (*scenarios.Observed, error) {
	nodes := s.deciding(&a)
	before, err := s.memory.entries(ctx, nodes)
	if err != nil {
		return nil, err
	}
	all, err := s.tryWays(ctx, w, &a, 1)
	if err != nil {
		return nil, err
	}
	after, err := s.memory.entries(ctx, nodes)
	if err != nil {
		return nil, err
	}
	rest := min(times, stickySamples) - 1
	if s.outlook(a) == SilenceForetold {
		rest = min(rest, silentSamples-1)
	}
	if maps.Equal(before, after) { // no rule has remembered the client, as none does that stops a packet
		if rest == 0 {
			return observed(all), nil
		}
		ways, err := s.tryWays(ctx, w, &a, rest)
		return observed(append(all, ways...)), err
	}
	for ; rest > 0; rest-- {
		if err := s.memory.forget(ctx, nodes, before); err != nil {
			return nil, err
		}
		ways, err := s.tryWays(ctx, w, &a, 1)
		if err != nil {
			return nil, err
		}
		all = append(all, ways...)
	}
	return observed(all), s.memory.forget(ctx, nodes, before)
}

// deciding are the nodes of the cluster whose rules may decide about a connection: the client's, that by which it comes from outside, and that of the
// address that it calls.
func (s *Session) deciding(a *scenarios.Attempt) []string {
	out := []string{s.mapping.Node(a.Via)}
	if host, ok := s.mapping.Host(a.From); ok && host.Machine != s.backend.facts.Outside.Name {
		out[0] = host.Machine
	}
	if owner := s.mapping.Owner(a.To.Addr()); s.cluster.Node(owner) != nil && s.mapping.Node(owner) != out[0] {
		out = append(out, s.mapping.Node(owner))
	}
	return out
}

// watchedSamples is how many connections are looked at on their way, where chance has a part in it.
const watchedSamples = 20

// tryWays makes a connection so many times, and says what came of each. Where the two ends do not tell of each, what was seen on the way tells of the first
// ones.
func (s *Session) tryWays(ctx context.Context, w *watch, a *scenarios.Attempt, times int) ([]scenarios.Way, error) {
	from, d, err := s.dialOf(a)
	if err != nil {
		return nil, err
	}
	d.Times = times
	results, err := s.relay(from.Machine).Dial(ctx, from.Agent, d)
	if err != nil {
		return nil, err
	}
	var ways []scenarios.Way
	for i := range results {
		way, told := s.wayOf(a, &results[i])
		if !told {
			return s.watchedWays(ctx, w, agent{from.Machine, from.Agent}, a, results[:min(len(results), watchedSamples)])
		}
		ways = append(ways, way)
	}
	return ways, s.completeICMP(ctx, d.Proto, results, ways)
}

func (s *Session) watchedWays(ctx context.Context, w *watch, client agent, a *scenarios.Attempt, results []probe.Result) ([]scenarios.Way, error) {
	ways := make([]scenarios.Way, len(results))
	for i := range results {
		var err error
		if ways[i], err = s.watchedWay(ctx, w, client, a, &results[i]); err != nil {
			return nil, err
		}
	}
	return ways, nil
}

// completeICMP finds out from the agents that were asked which client they saw: an echo reply does not say it.
func (s *Session) completeICMP(ctx context.Context, proto packetsim.Proto, results []probe.Result, ways []scenarios.Way) error {
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
