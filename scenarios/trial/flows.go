package trial

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/oracle"
	"github.com/chainwalk/chainwalk/scenarios/sim"
)

// flow is a connection that is kept through the steps that follow.
type flow struct {
	// name is how steps call it, and connect the step that keeps it.
	name    string
	connect scenarios.Connect
	// after is the step after which it was kept; 0 is the first sync.
	after   int
	attempt oracle.Attempt
	service types.NamespacedName
	judged  *oracle.Flow
	sender  *sim.Flow
	// silent says that the server answers nothing but the first packet.
	silent bool
	// unsure says that an address of it is gone or another's since the last sync, so that nothing is promised.
	unsure bool
	// over says that the client has its address no longer.
	over bool
	// own says that a step keeps it, and not the trial.
	own bool
}

// maxFlows is how many connections a trial keeps beside those of the steps.
const maxFlows = 8

// firstPort is the client's port of the first of them, and newPort that of new connections: one of
// its own, so that a new one is not taken for one that is kept.
const (
	firstPort = 20001
	newPort   = 20000
)

// anew is an attempt from a port that no kept connection has.
func anew(a oracle.Attempt) oracle.Attempt {
	if a.Source.Port() == 0 && a.Protocol != oracle.ICMP {
		a.Source = netip.AddrPortFrom(a.Source.Addr(), newPort)
	}
	return a
}

// keep keeps connections among attempts: of each service and protocol one, then one to each other place that a service is called at, and
// a datagram to where nobody is.
func (r *run) keep(m *moment, attempts []oracle.Attempt) error {
	if !m.settled() {
		return nil
	}
	for _, again := range []bool{false, true} {
		for _, places := range byPlace(attempts) {
			if len(r.flows) >= maxFlows {
				return nil
			}
			if err := r.keepOneOf(m, places, again); err != nil {
				return err
			}
		}
	}
	return nil
}

// byPlace are attempts by what they call, in the order of the first of each.
func byPlace(attempts []oracle.Attempt) [][]oracle.Attempt {
	type place struct {
		corev1.Protocol
		netip.AddrPort
	}
	var out [][]oracle.Attempt
	at := map[place]int{}
	for _, a := range attempts {
		i, known := at[place{a.Protocol, a.To}]
		if !known {
			i = len(out)
			at[place{a.Protocol, a.To}] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], a)
	}
	return out
}

// keepOneOf keeps one of the attempts that call the same place, if none of its service is kept. Again: another place of the service is to be
// called, each time by another client.
func (r *run) keepOneOf(m *moment, attempts []oracle.Attempt, again bool) error {
	first := 0
	if again {
		first = len(r.flows)
	}
	for i := range attempts {
		a := attempts[(first+i)%len(attempts)]
		answer := m.after.Expect(a)
		pick, worth := worthKeeping(a, &answer, len(r.flows))
		switch {
		case !worth:
			continue
		case r.keeps(a, answer.Service, again):
			return nil
		}
		a.Source = netip.AddrPortFrom(a.Source.Addr(), firstPort+uint16(len(r.flows)))
		return r.keepOne(m.after, a, pick)
	}
	return nil
}

// worthKeeping reports whether a first packet leaves something behind that later ones meet, and to which endpoint.
func worthKeeping(a oracle.Attempt, answer *oracle.Answer, number int) (pick netip.AddrPort, worth bool) {
	switch {
	case a.Protocol == oracle.ICMP, answer.Open, len(answer.Others) > 0:
		return netip.AddrPort{}, false
	case answer.Fate == oracle.ToEndpoint:
		place := number % len(answer.Endpoints)
		_, end := answer.At(place)
		return answer.Endpoints[place], end == oracle.Delivered && answer.Heard(place)
	}
	return netip.AddrPort{}, answer.Fate == oracle.Untouched && a.Protocol == corev1.ProtocolUDP && answer.Host == ""
}

// keeps reports whether a connection of a service is kept already; again: one to the same place.
func (r *run) keeps(a oracle.Attempt, service types.NamespacedName, again bool) bool {
	return slices.ContainsFunc(r.flows, func(f *flow) bool {
		return f.service == service && f.attempt.Protocol == a.Protocol && (!again || service.Name == "" || f.attempt.To == a.To)
	})
}

// keepOne makes a connection that stays.
func (r *run) keepOne(s *oracle.Spec, a oracle.Attempt, pick netip.AddrPort) error {
	sender, err := r.world.Keep(a, pick)
	if err != nil {
		return nil // no way leads to the one to pick, which is for judge to say
	}
	r.report.Figures.Connections++
	way := sender.Way()
	f := &flow{
		name: fmt.Sprintf("kept%d", len(r.flows)+1), after: r.step, attempt: a, service: s.Expect(a).Service, sender: sender,
		judged: s.Keep(a, way), silent: len(r.flows)%2 == 1,
	}
	for _, n := range r.nodes {
		if n.fresh {
			f.judged.Restarted(n.name) // what it serves, the proxier before it wrote
		}
	}
	answer := s.Expect(a)
	f.connect = connectOf(a)
	f.connect.As, f.connect.Pick = f.name, pick
	f.connect.Expect, _ = scenarios.ExpectOf(&answer)
	r.flows = append(r.flows, f)
	r.affinity.Made(s, a, way, r.time())
	r.sticky = true
	return nil
}

// pass takes the time that has passed: a step let it, or a restore took some.
func (r *run) pass() {
	now := r.world.Now()
	d := now.Sub(r.began) - r.passed
	if d == 0 {
		return
	}
	r.passed += d
	for _, f := range r.flows {
		f.judged.Idle(d)
	}
}

// time is the time of the cluster's clock, but for where it begins.
func (r *run) time() time.Time { return time.Unix(0, 0).Add(r.passed) }

// flowsSynced tells the connections what all nodes know now, but for those whose proxiers have not synced since they started.
func (r *run) flowsSynced(s *oracle.Spec) {
	r.affinity.Synced(s)
	r.told = r.ruled()
	var synced []string
	for _, n := range r.nodes {
		if !n.fresh {
			synced = append(synced, n.name)
		}
	}
	if len(synced) == 0 {
		return
	}
	for _, f := range r.flows {
		if service := s.Expect(f.attempt).Service; service.Name != "" {
			f.service = service // another one may have the address by now
		}
		f.unsure = false
		f.judged.Synced(s, synced...)
	}
}

// flowsTried tells the connections what syncs may have made rules of that did not end well beyond doubt.
func (r *run) flowsTried(s *oracle.Spec) {
	for _, f := range r.flows {
		f.judged.Tried(s)
	}
}

// judgeFlows sends a packet of each connection that the trial keeps, and its answer. Of those that steps keep, steps send: who speaks first
// may matter.
func (r *run) judgeFlows(m *moment) error {
	if len(r.flows) == 0 {
		return nil
	}
	services, everything := r.concernedServices()
	for _, f := range r.flows {
		open := everything || slices.Contains(services, f.service) || calls(m.after, f, services) || calls(m.before, f, services)
		if m.tried && f.attempt.Protocol == corev1.ProtocolUDP {
			open = open || r.servedBetween(f, services) // by a sync that failed
		}
		if f.own || f.over || f.unsure || open && f.attempt.Protocol == corev1.ProtocolUDP {
			continue // whether its entries are deleted already is open
		}
		if _, err := r.talk(m, f); err != nil {
			return err
		}
	}
	return nil
}

// servedBetween reports whether what a connection calls may be one of some services' by what syncs have tried.
func (r *run) servedBetween(f *flow, services []types.NamespacedName) bool {
	return slices.ContainsFunc(r.mixtures(), func(views []*view) bool {
		return calls(r.spec(views), f, services)
	})
}

// calls reports whether what a connection calls may be one of some services': several may claim an address.
func calls(s *oracle.Spec, f *flow, services []types.NamespacedName) bool {
	answer := s.Expect(f.attempt)
	return slices.Contains(services, answer.Service) ||
		slices.ContainsFunc(answer.Others, func(o oracle.Answer) bool { return slices.Contains(services, o.Service) })
}

// talk sends a packet of the client, and the server's answer if it takes it; taken says that the client took that.
func (r *run) talk(m *moment, f *flow) (taken bool, err error) {
	taken, err = r.send(m, f, oracle.Later{From: oracle.FromClient})
	if err != nil || !taken || f.silent && f.attempt.Protocol == corev1.ProtocolUDP {
		return false, err
	}
	return r.send(m, f, oracle.Later{From: oracle.FromServer})
}

// addressesChanged notes that these addresses have gone, or are somebody else's.
func (r *run) addressesChanged(addresses []netip.Addr) {
	for _, f := range r.flows {
		way := f.sender.Way()
		for _, end := range []netip.AddrPort{way.Server, way.Sender, way.Client} {
			f.unsure = f.unsure || slices.Contains(addresses, end.Addr())
		}
		f.over = f.over || slices.Contains(addresses, way.Sender.Addr())
	}
}

// outOfWindow has the servers of TCP connections send packets that conntrack takes for no part of them.
func (r *run) outOfWindow(m *moment) error {
	for _, f := range r.flows {
		if f.unsure || f.over || f.own || f.attempt.Protocol != corev1.ProtocolTCP {
			continue
		}
		taken, err := r.talk(m, f) // conntrack must have seen both ends to know what is a part
		if err == nil && taken {
			_, err = r.send(m, f, oracle.Later{From: oracle.FromServer, OutOfWindow: true})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// concernedServices are those that nodes know something else of than the connections were told, or knew in a sync that ended well, or may
// have, since; everything says that it may be all of them.
func (r *run) concernedServices() (services []types.NamespacedName, everything bool) {
	for i, last := range r.tried() {
		n := r.nodes[i]
		for _, known := range append(slices.Clip(n.tried), n.ruled, last) {
			everything = everything || n.fresh || !r.told[i].sameNode(known)
			services = append(services, changed(r.told[i].View, known.View)...)
		}
	}
	return services, everything
}

// send sends a packet of a connection. It is taken if the socket at the other end, the same as at first, has it.
func (r *run) send(m *moment, f *flow, later oracle.Later) (taken bool, err error) {
	ways, err := f.sender.Send(sideOf(later), kindOf(later), netip.AddrPort{})
	if err != nil || len(ways) == 0 {
		return false, nil // an end of it is no more
	}
	r.report.Figures.Packets++
	f.judged.Moved(m.before)
	if f.unsure {
		f.judged.Went(later, likeliest(ways))
		return false, nil
	}
	allowed := f.judged.Expect(later)
	r.exercised(allowed.Clauses()...)
	for _, v := range f.judged.Judge(later, ways) {
		if err := r.foundInFlow(m, f, later, &allowed, v); err != nil {
			return false, err
		}
	}
	way := likeliest(ways)
	f.judged.Went(later, way)
	switch {
	case later.From == oracle.FromServer:
	case allowed.Open, len(allowed.Others) > 0, allowed.Service.Name != "" && !m.settled():
		r.affinity.MayHaveMade(m.after, f.attempt, way, r.time())
	case allowed.Service.Name != "":
		r.affinity.Made(m.after, f.attempt, way, r.time())
	}
	return way.Heard && (later.From == oracle.FromServer || way.Server == f.sender.Way().Server), nil
}

// likeliest is the way that stays.
func likeliest(ways []oracle.Way) oracle.Way {
	best := ways[0]
	for _, w := range ways {
		if w.Probability > best.Probability {
			best = w
		}
	}
	return best
}

// traffic makes the connections that a step keeps, and sends its packets of them.
func (r *run) traffic(s *scenarios.Step) error {
	if r.quiet || r.blind() {
		return nil
	}
	m := r.moment()
	switch {
	case s.Connect != nil && s.Connect.As != "" && m.settled():
		a, err := r.attemptOf(s.Connect)
		if err != nil {
			return err
		}
		if err := r.keepOne(m.after, a, s.Connect.Pick); err != nil {
			return err
		}
		f := r.flows[len(r.flows)-1]
		f.name, f.own, f.silent = s.Connect.As, true, true
	case s.Flow != nil:
		return r.packet(&m, s.Flow)
	}
	return nil
}

// packet sends a packet of a connection that a step has kept.
func (r *run) packet(m *moment, p *scenarios.FlowPacket) error {
	place := slices.IndexFunc(r.flows, func(f *flow) bool { return f.name == p.Of })
	if place < 0 {
		return nil // it was not kept, since nothing was certain
	}
	later := oracle.Later{
		From: oracle.FromClient, OutOfWindow: p.Send == scenarios.PacketOutOfWindow, Reset: p.Send == scenarios.PacketRST, Fin: p.Send == scenarios.PacketFIN,
	}
	if p.From == scenarios.SideServer {
		later.From = oracle.FromServer
	}
	_, err := r.send(m, r.flows[place], later)
	return err
}

func sideOf(p oracle.Later) scenarios.Side {
	if p.From == oracle.FromServer {
		return scenarios.SideServer
	}
	return scenarios.SideClient
}

func kindOf(p oracle.Later) scenarios.PacketKind {
	switch {
	case p.OutOfWindow:
		return scenarios.PacketOutOfWindow
	case p.Reset:
		return scenarios.PacketRST
	case p.Fin:
		return scenarios.PacketFIN
	}
	return scenarios.PacketData
}

// attemptOf is the first packet of a connection of a step.
func (r *run) attemptOf(c *scenarios.Connect) (oracle.Attempt, error) {
	a := oracle.Attempt{From: c.From, Protocol: corev1.Protocol(strings.ToUpper(c.To.Proto)), To: c.To.AddrPort, Via: c.Via}
	a.Source = netip.AddrPortFrom(c.Bind.Addr, c.Bind.Port)
	if a.Via == "" {
		a.Via = r.nodes[0].name
	}
	return a, nil
}
