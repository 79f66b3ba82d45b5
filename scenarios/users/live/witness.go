package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/search/gen"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// ErrNoWitness says that no scenario shows a finding: the simulated cluster around the service is not like the real one there.
var ErrNoWitness = errors.New("no scenario shows it")

// maxWitnesses is how many of the connections that suffer are tried.
const maxWitnesses = 12

// Witness makes the scenario that shows a finding: the service and the nodes that it takes, kube-proxy's rules, then what is
// other on the real nodes, as commands, and a connection that suffers. It fails as long as these commands are in it, and
// holds without. It is the smallest that is so of some that are less, as many as shrinks. The head says what was found.
func (c *Cluster) Witness(ctx context.Context, f *Finding, shrinks int) (s *scenarios.Scenario, head []string, err error) {
	e, err := c.exam()
	if err != nil {
		return nil, nil, err
	}
	if len(f.Missing)+len(f.Foreign)+len(f.Moved)+len(f.Deciding) == 0 {
		return nil, nil, fmt.Errorf("%w: what decided is no rule of iptables: %s", ErrNoWitness, f.What)
	}
	why := errors.New("nothing suffers")
	for i := 0; i < len(f.attempts) && i < maxWitnesses; i++ {
		for _, narrow := range []bool{true, false} {
			w := &witness{exam: e, suffering: f.attempts[i]}
			if s, why = w.scenario(ctx, narrow); why == nil {
				return smaller(ctx, s, shrinks), witnessHead(f), nil
			}
		}
	}
	return nil, nil, fmt.Errorf("%w: %w", ErrNoWitness, why)
}

// smaller is the smallest of some scenarios that are less than one and fail and hold as it does.
func smaller(ctx context.Context, s *scenarios.Scenario, shrinks int) *scenarios.Scenario {
	ctx = klog.NewContext(ctx, logr.Discard()) // what proxiers say of objects that are half gone is not the user's matter
	out := gen.Shrink(s, func(less *scenarios.Scenario) bool { return shows(ctx, less) == nil }, shrinks)
	out.Name = s.Name
	return out
}

// shows says why a scenario shows nothing; nil if a packet fails with its faults, and all hold without.
func shows(ctx context.Context, s *scenarios.Scenario) error {
	sound := *s
	sound.Steps = slices.DeleteFunc(slices.Clone(s.Steps), func(step scenarios.Step) bool { return step.Fault != nil })
	if scenarios.Run(ctx, &sound, sim.Backend{}).Failed() {
		return errors.New("it does not hold in the simulated cluster without the fault either")
	}
	result := scenarios.Run(ctx, s, sim.Backend{})
	for i := range result.Checks {
		if check := &result.Checks[i]; !check.Passed && check.Packet == "" {
			return fmt.Errorf("%s: %s", check.Name, check.Wrong)
		}
	}
	if !result.Failed() {
		return errors.New("it holds in the simulated cluster with the fault as well")
	}
	return nil
}

func witnessHead(f *Finding) []string {
	head := []string{"Found by chainwalk doctor: " + f.answer()}
	for _, c := range f.Clauses {
		head = append(head, fmt.Sprintf("Clause %s: %s", c.Clause, c.Says))
	}
	for _, kind := range []struct {
		word  string
		rules []Rule
	}{{"Missing", f.Missing}, {"Foreign", f.Foreign}, {"At another place", f.Moved}, {"Decided by", f.Deciding}} {
		for _, r := range kind.rules {
			head = append(head, kind.word+": "+r.String())
		}
	}
	return head
}

// witness makes the scenario of one errand.
type witness struct {
	exam *exam
	*suffering
	cluster *scenarios.Cluster
}

// service is the one that the errand is for, NAMESPACE/NAME; empty if it is for none.
func (s *suffering) service() string {
	if s.answer.Service.Name == "" {
		return ""
	}
	return s.answer.Service.String()
}

// others are the rules that the errand met and that kube-proxy does not write there, and those that decided.
func (s *suffering) others() []*factRule {
	out := slices.Concat(s.foreign, s.moved)
	for i := range s.stops {
		if s.stops[i].rule.Text != "" {
			out = append(out, &s.stops[i].rule)
		}
	}
	return out
}

// scenario makes it and tries it with and without the faults.
func (w *witness) scenario(ctx context.Context, narrow bool) (*scenarios.Scenario, error) {
	answer := w.exam.spec.Expect(w.attempt)
	expect, ok := scenarios.ExpectOf(&answer)
	if !ok {
		return nil, errors.New("the format has no word for what is expected")
	}
	d, _, err := w.exam.cluster.draft()
	if err != nil {
		return nil, err
	}
	d.toSimulated()
	w.reduce(d, &answer, narrow)
	s, err := d.scenario(cmp.Or(w.service(), "packets of no service") + ": " + w.String())
	if err != nil {
		return nil, err
	}
	if w.cluster, err = scenarios.ResolveWith(s, controller.New); err != nil {
		return nil, err
	}
	faults, err := w.faults(ctx, s)
	if err != nil {
		return nil, err
	}
	place := 0
	if w.act == actLive {
		place = 1 // the connection is there before
	}
	s.Steps = slices.Insert(w.checks(expect), place, faults...)
	return s, shows(ctx, s)
}

// checks are the steps that fail.
func (w *witness) checks(expect scenarios.Expect) []scenarios.Step {
	connect := connectStep(w.attempt, expect)
	if w.act == actConnect || w.act == actReplied {
		return []scenarios.Step{{Connect: &connect}}
	}
	if w.act == actMartian {
		in := w.exam.lab.spoofed(w.attempt)
		in.In = plan.Underlay
		if w.cluster.Pod(w.attempt.From) != nil {
			in.In = w.attempt.From
		}
		return []scenarios.Step{{Send: &scenarios.Send{Node: w.attempt.Via, Packet: scenarios.PacketInput{Input: in}, Expect: expect}}}
	}
	const first = "first"
	connect.As, connect.Pick = first, w.pick
	later := scenarios.Step{Flow: &scenarios.FlowPacket{Of: first, From: scenarios.SideServer}}
	switch w.act {
	case actAgain:
		again := connectStep(w.attempt, scenarios.Expect{SameAs: first})
		again.Bind.Port = secondPort
		later = scenarios.Step{Connect: &again}
	case actInvalid:
		later.Flow.Send, later.Flow.Expect = scenarios.PacketOutOfWindow, scenarios.Expect{Drop: scenarios.Matched{Wanted: true}}
	default:
		later.Flow.Expect = scenarios.Expect{Delivered: true}
		if w.live != nil {
			later.Flow.From = w.live.side
		}
	}
	return []scenarios.Step{{Connect: &connect}, later}
}

func connectStep(a oracle.Attempt, expect scenarios.Expect) scenarios.Connect {
	return scenarios.Connect{
		From: a.From, Bind: scenarios.Bind{Addr: a.Source.Addr(), Port: a.Source.Port()},
		To:  scenarios.Target{Proto: strings.ToLower(string(a.Protocol)), AddrPort: a.To},
		Via: a.Via, Expect: expect,
	}
}

// reduce leaves in the draft what the attempt takes: the service with its slices, the client, and the nodes on the way.
// Narrow leaves of the service its port alone.
func (w *witness) reduce(d *draft, answer *oracle.Answer, narrow bool) {
	nodes := map[string]bool{w.attempt.From: true, w.attempt.Via: true, answer.Node: true, answer.Host: true}
	for _, a := range w.exam.topology.Nodes {
		if slices.Contains(a.Addresses, w.attempt.To.Addr()) || slices.Contains(a.ExtraAddresses, w.attempt.To.Addr()) {
			nodes[a.Name] = true
		}
	}
	for _, r := range slices.Concat(w.missing, w.others()) {
		nodes[r.Node] = true
	}
	for _, pod := range w.exam.topology.Pods {
		if pod.Name == w.attempt.From || pod.Name == answer.Host {
			nodes[pod.Node] = true
		}
	}
	d.objects = slices.DeleteFunc(d.objects, func(o manifest.Object) bool {
		switch o := o.Object.(type) {
		case *corev1.Service:
			if o.Namespace+"/"+o.Name != w.service() {
				return true
			}
			if narrow && answer.Port != "" {
				o.Spec.Ports = slices.DeleteFunc(o.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name != answer.Port })
			}
		case *discoveryv1.EndpointSlice:
			if o.Namespace+"/"+o.Labels[discoveryv1.LabelServiceName] != w.service() || narrow && !w.isOfFamily(o) {
				return true
			}
			if narrow {
				o.Ports = slices.DeleteFunc(o.Ports, func(p discoveryv1.EndpointPort) bool { return p.Name != nil && *p.Name != answer.Port })
			}
			for i := range o.Endpoints {
				if o.Endpoints[i].NodeName != nil {
					nodes[*o.Endpoints[i].NodeName] = true
				}
			}
		}
		return false
	})
	d.topology.Nodes = slices.DeleteFunc(d.topology.Nodes, func(n scenarios.Node) bool { return !nodes[n.Name] })
	d.topology.Pods = slices.DeleteFunc(d.topology.Pods, func(p scenarios.Pod) bool {
		return p.Name != w.attempt.From && p.Name != answer.Host || !nodes[p.Node]
	})
	d.topology.Outside = slices.DeleteFunc(d.topology.Outside, func(m scenarios.Machine) bool {
		return m.Name != w.attempt.From && m.Name != answer.Host
	})
	if narrow {
		w.oneFamily(&d.topology)
	}
}

func (w *witness) isOfFamily(s *discoveryv1.EndpointSlice) bool {
	return (s.AddressType == discoveryv1.AddressTypeIPv6) == w.attempt.To.Addr().Is6()
}

// oneFamily leaves the addresses of the attempt's family.
func (w *witness) oneFamily(t *scenarios.Topology) {
	v6 := w.attempt.To.Addr().Is6()
	t.IPFamily = scenarios.FamilyIPv4
	if v6 {
		t.IPFamily = scenarios.FamilyIPv6
	}
	other := func(a netip.Addr) bool { return a.Is6() != v6 }
	for i := range t.Nodes {
		n := &t.Nodes[i]
		n.Addresses, n.ExtraAddresses = slices.DeleteFunc(n.Addresses, other), slices.DeleteFunc(n.ExtraAddresses, other)
		n.PodCIDRs = slices.DeleteFunc(n.PodCIDRs, func(p netip.Prefix) bool { return other(p.Addr()) })
	}
	for i := range t.Pods {
		t.Pods[i].Addresses = slices.DeleteFunc(t.Pods[i].Addresses, other)
	}
	for i := range t.Outside {
		t.Outside[i].Addresses = slices.DeleteFunc(t.Outside[i].Addresses, other)
	}
}

// faults are the steps that make the simulated nodes' rules what the real ones' are.
func (w *witness) faults(ctx context.Context, s *scenarios.Scenario) ([]scenarios.Step, error) {
	world, err := sim.NewWorld(ctx, w.cluster, sim.Options{})
	if err != nil {
		return nil, err
	}
	defer world.Close() //nolint:errcheck // the simulator has nothing to take down
	var out []scenarios.Step
	for i := range w.cluster.Nodes {
		name := w.cluster.Nodes[i].Name
		if err := world.Sync(ctx, []string{name}); err != nil {
			return nil, err
		}
		var run []string
		for _, family := range []scenarios.IPFamily{scenarios.FamilyIPv4, scenarios.FamilyIPv6} {
			if s.Topology.IPFamily != scenarios.FamilyDual && s.Topology.IPFamily != family {
				continue
			}
			lines, err := w.commands(name, family, world.Host(name))
			if err != nil {
				return nil, err
			}
			run = append(run, lines...)
		}
		if len(run) > 0 {
			out = append(out, scenarios.Step{Name: "what is other on " + name, Fault: &scenarios.Fault{Node: name, Run: run}})
		}
	}
	if len(out) == 0 {
		return nil, errors.New("nothing is other on the nodes in question")
	}
	return out, nil
}

// commands turn the rules that kube-proxy wrote on a simulated node into those of the real one, as far as the finding goes.
func (w *witness) commands(node string, family scenarios.IPFamily, simulated *packetsim.Host) ([]string, error) {
	number := map[scenarios.IPFamily]netfilter.Family{scenarios.FamilyIPv4: netfilter.IPv4, scenarios.FamilyIPv6: netfilter.IPv6}[family]
	host := w.exam.lab.Network.Host(node)
	if w.exam.nodes[node] == nil {
		return nil, nil
	}
	t := newTranscript(toolOf(number), rulesetOf(simulated.Rulesets(number)[0]), rulesetOf(host.Rulesets(number)[0]),
		simulatedDevices(w.cluster, w.exam.nodes[node]))
	for _, r := range slices.Concat(w.missing, w.moved) {
		if r.Node == node && r.Family == number && isOf(r.Rule, host) {
			t.remove(r.Rule)
		}
	}
	for _, r := range w.others() {
		if r.Node == node && r.Family == number && isOf(r.Rule, host) {
			t.insert(r.Rule)
		}
	}
	return t.lines, t.err
}

// isOf says whether a rule is one of the tools whose rules kube-proxy writes on a node. A scenario's node has no others.
func isOf(r Rule, host *network.Host) bool {
	return r.Dialect == "" || r.Dialect == host.Rulesets(r.Family)[0].Dialect
}

func toolOf(family netfilter.Family) string {
	if family == netfilter.IPv6 {
		return "ip6tables"
	}
	return "iptables"
}
