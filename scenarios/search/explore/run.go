package explore

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// state is what sequences change.
type state struct{ silent, endpointGone, serviceGone bool }

// after is the state after something happened.
func (s state) after(l letter) state {
	switch l {
	case answer:
		s.silent = !s.silent
	case endpoint:
		s.endpointGone = !s.endpointGone
	case service:
		s.serviceGone = !s.serviceGone
	}
	return s
}

// run is one sequence.
type run struct {
	*small
	cluster  *scenarios.Cluster
	specs    map[state]*oracle.Spec
	report   *result
	sequence sequence

	world  *sim.World
	player *scenarios.Player
	now    state
	flow   *oracle.Flow
	sender *sim.Flow
	ports  uint16 // how many ports the client has used
	name   string // of the packet that was kept last, in the witness
	// steps are what happened, for the witness.
	steps []scenarios.Step
	found bool
}

// all makes the sequence, and then sends once more.
func (r *run) all(ctx context.Context) (err error) {
	if r.world, err = sim.NewWorld(ctx, r.cluster, sim.Options{Direct: true, OneFamily: true, Proxier: r.proxier}); err != nil {
		return err
	}
	defer func() { err = firstOf(err, r.world.Close()) }()
	r.player = scenarios.NewPlayer(r.cluster, r.world)
	if err := r.sync(ctx); err != nil {
		return err
	}
	for i, l := range r.sequence {
		if err := r.happens(ctx, l, i+1 < len(r.sequence) && r.sequence[i+1] == crash); err != nil || r.found {
			return err
		}
	}
	return r.send()
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) sync(ctx context.Context) error {
	if err := r.world.Sync(ctx, []string{nodeName}); err != nil {
		return fmt.Errorf("%s: %w", r.sequence, err)
	}
	if r.flow != nil {
		r.flow.Synced(r.spec())
	}
	return nil
}

// happens makes one letter true. Unsynced says that the proxier has no time to sync it.
func (r *run) happens(ctx context.Context, l letter, unsynced bool) error {
	if l == datagram {
		return r.send()
	}
	r.now = r.now.after(l)
	step := r.step(l, r.now)
	if unsynced {
		step.Sync = &scenarios.NodeSet{}
	}
	r.steps = append(r.steps, step)
	if err := r.player.Act(ctx, &step); err != nil {
		return fmt.Errorf("%s: %w", r.sequence, err)
	}
	switch {
	case r.flow == nil:
	case l == timePasses:
		r.flow.Idle(pause)
	case l == answer:
		r.flow.Moved(r.spec())
	case l == restart || l == crash:
		r.flow.Restarted(nodeName)
	}
	if len(r.player.Syncs(&step)) == 0 {
		return nil
	}
	return r.sync(ctx)
}

// spec is what holds now.
func (r *run) spec() *oracle.Spec {
	spec := r.specs[r.now]
	if spec == nil {
		objects := []manifest.Object{r.with}
		if r.now.endpointGone {
			objects[0] = r.without
		}
		if !r.now.serviceGone {
			objects = append(objects, r.service)
		}
		spec = oracle.New(plan.Of(r.cluster).Oracle(append(objects, r.cluster.Objects[0])))
		r.specs[r.now] = spec
	}
	return spec
}

// send has the client send: the first packet of a flow, or the next one. A client whose connection is no more opens
// another one, from another port.
func (r *run) send() error {
	later := oracle.Later{From: oracle.FromClient}
	datagram := r.protocol == corev1.ProtocolUDP
	if r.flow != nil && !datagram {
		if answer := r.flow.Expect(later); !answer.Open {
			return r.segment(later, &answer)
		}
		r.flow = nil
	}
	if r.flow == nil {
		r.ports++
	}
	return r.first(later)
}

// first sends what opens a connection, or a datagram, which is the same packet each time.
func (r *run) first(later oracle.Later) error {
	a := r.attempt(clientPort + r.ports - 1)
	ways, err := r.world.Reach(a)
	if err != nil {
		return err
	}
	var answer oracle.Answer
	var violations []oracle.Violation
	if r.flow == nil {
		answer, violations = r.spec().Expect(a), r.spec().Judge(a, ways)
	} else {
		answer, violations = r.flow.Expect(later), r.flow.Judge(later, ways)
	}
	r.judged(&answer, violations, r.connectStep(a, &answer))
	kept, err := r.world.Keep(a, r.choice(&answer, ways))
	if err != nil || r.found {
		return err
	}
	r.sender = kept
	switch {
	case r.flow != nil:
		r.flow.Went(later, kept.Way())
	case r.protocol == corev1.ProtocolUDP || kept.Way().Heard && kept.Way().End == oracle.Delivered:
		r.flow = r.spec().Keep(a, kept.Way())
	default:
		return nil // a connection that was not made has no later segments
	}
	if kept.Way().Heard || !r.answers() {
		return nil
	}
	return r.again(a, later)
}

// answers says whether the service has endpoints, and all of them are there and answer: however long conntrack remembers, no
// client may then be left alone.
func (r *run) answers() bool {
	return !r.now.serviceGone && !r.now.silent && !(r.now.endpointGone && r.endpoints == 1)
}

// again sends a packet again that nobody answered. One may be lost: the kernel drops the first packet of a masqueraded flow that
// would leave by another device than before, and forgets the flow (nf_nat_core.c, nf_nat_oif_changed).
func (r *run) again(a oracle.Attempt, later oracle.Later) error {
	ways, err := r.world.Reach(a)
	if err != nil {
		return err
	}
	var violations []oracle.Violation
	if i := slices.IndexFunc(ways, func(w oracle.Way) bool { return !w.Heard }); i >= 0 {
		got := fmt.Sprintf("%s at %s as %s", ways[i].End, ways[i].Host, ways[i].Server)
		violations = []oracle.Violation{{Clause: oracle.StaleUDPFlow, Attempt: a, Want: "an endpoint answers, at the latest the second time",
			Got: got}}
	}
	answer := r.spec().Expect(a)
	r.judged(&answer, violations, r.connectStep(a, &answer))
	kept, err := r.world.Keep(a, r.choice(&answer, ways))
	if err == nil && !r.found {
		r.flow.Went(later, kept.Way())
	}
	return err
}

// segment sends a later packet of a connection.
func (r *run) segment(later oracle.Later, answer *oracle.Answer) error {
	ways, err := r.sender.Send(scenarios.SideClient, scenarios.PacketData, netip.AddrPort{})
	if err != nil {
		return err
	}
	expect, ok := scenarios.ExpectOf(answer)
	expect.Source = scenarios.Source{} // a later packet meets no rule that changes it
	var step *scenarios.Step
	if ok {
		step = &scenarios.Step{Flow: &scenarios.FlowPacket{Of: r.name, From: scenarios.SideClient, Expect: expect}}
	}
	r.judged(answer, r.flow.Judge(later, ways), step)
	r.flow.Went(later, ways[0])
	return nil
}

// choice is the way to keep where there are several: to the endpoint that goes.
func (r *run) choice(answer *oracle.Answer, ways []oracle.Way) netip.AddrPort {
	first := netip.AddrPortFrom(firstIP, port)
	if slices.Contains(answer.Endpoints, first) && slices.ContainsFunc(ways, func(w oracle.Way) bool { return w.Server == first }) {
		return first
	}
	return netip.AddrPort{}
}

// connectStep is a first packet as a scenario has it, nil where there are no words for what is allowed.
func (r *run) connectStep(a oracle.Attempt, answer *oracle.Answer) *scenarios.Step {
	expect, ok := scenarios.ExpectOf(answer)
	if !ok {
		return nil
	}
	r.name = fmt.Sprintf("packet%d", len(r.steps)+1)
	return &scenarios.Step{Connect: &scenarios.Connect{
		From: a.From, Bind: scenarios.Bind{Port: a.Source.Port()},
		To: scenarios.Target{Proto: strings.ToLower(string(a.Protocol)), AddrPort: a.To},
		As: r.name, Expect: expect,
	}}
}

// judged counts what was judged, and notes what is wrong.
func (r *run) judged(answer *oracle.Answer, violations []oracle.Violation, step *scenarios.Step) {
	r.report.packets++
	for _, c := range answer.Clauses() {
		r.report.clauses[c.Name]++
	}
	if step != nil {
		r.steps = append(r.steps, *step)
	}
	if len(violations) == 0 {
		return
	}
	r.found = true
	v := violations[0]
	f := counterexample{sequence: slices.Clone(r.sequence), clause: v.Clause, want: v.Want, got: v.Got}
	if step != nil {
		witness := *r.base
		witness.Steps = slices.Clone(r.steps)
		f.witness = &witness
	}
	r.report.counterexamples = append(r.report.counterexamples, f)
}
