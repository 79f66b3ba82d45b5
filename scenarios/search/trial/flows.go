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
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
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
func (m *moment) keep(attempts []oracle.Attempt) error {
	if !m.settled() {
		return nil
	}
	for _, again := range []bool{false, true} {
		for _, places := range byPlace(attempts) {
			if len(m.r.kept.flows) >= maxFlows {
				return nil
			}
			if err := m.keepOneOf(places, again); err != nil {
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

// keepOneOf keeps one of the attempts that call the same place, if none of its service is kept. Again: another place of the service is to
// be called, each time by another client.
func (m *moment) keepOneOf(attempts []oracle.Attempt, again bool) error {
	first := 0
	if again {
		first = len(m.r.kept.flows)
	}
	for i := range attempts {
		a := attempts[(first+i)%len(attempts)]
		answer := m.after.Expect(a)
		pick, worth := worthKeeping(a, &answer, len(m.r.kept.flows))
		switch {
		case !worth:
			continue
		case m.r.kept.keeps(a, answer.Service, again):
			return nil
		}
		a.Source = netip.AddrPortFrom(a.Source.Addr(), firstPort+uint16(len(m.r.kept.flows)))
		return m.keepOne(m.after, a, pick)
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

// keepOne makes a connection that stays.
func (m *moment) keepOne(s *oracle.Spec, a oracle.Attempt, pick netip.AddrPort) error {
	sender, err := m.r.world.Keep(a, pick)
	if err != nil {
		return nil // no way leads to the one to pick, which is for judge to say
	}
	m.r.report.Figures.Connections++
	way := sender.Way()
	f := &flow{
		name: fmt.Sprintf("kept%d", len(m.r.kept.flows)+1), after: m.r.step, attempt: a, service: s.Expect(a).Service, sender: sender,
		judged: s.Keep(a, way), silent: len(m.r.kept.flows)%2 == 1,
	}
	for _, n := range m.r.nodes {
		if n.fresh() {
			f.judged.Restarted(n.name) // what it serves, the proxier before it wrote
		}
	}
	answer := s.Expect(a)
	f.connect = connectOf(a)
	f.connect.As, f.connect.Pick = f.name, pick
	f.connect.Expect, _ = scenarios.ExpectOf(&answer)
	m.r.kept.flows = append(m.r.kept.flows, f)
	m.r.kept.affinity.Made(s, a, way, m.r.time())
	m.r.kept.sticky = true
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
	r.kept.idle(d)
}

// time is the time of the cluster's clock, but for where it begins.
func (r *run) time() time.Time { return time.Unix(0, 0).Add(r.passed) }

// judgeFlows sends a packet of each connection that the trial keeps, and its answer. Of those that steps keep, steps send: who speaks first
// may matter.
func (m *moment) judgeFlows() error {
	if len(m.r.kept.flows) == 0 {
		return nil
	}
	services, everything := m.r.kept.concerned(m.r.nodes)
	for _, f := range m.r.kept.flows {
		open := everything || slices.Contains(services, f.service) || calls(m.after, f, services) || calls(m.before, f, services)
		if m.tried && f.attempt.Protocol == corev1.ProtocolUDP {
			open = open || m.servedBetween(f, services) // by a sync that failed
		}
		if f.own || f.over || f.unsure || open && f.attempt.Protocol == corev1.ProtocolUDP {
			continue // whether its entries are deleted already is open
		}
		if _, err := m.talk(f); err != nil {
			return err
		}
	}
	return nil
}

// servedBetween reports whether what a connection calls may be one of some services' by what syncs have tried.
func (m *moment) servedBetween(f *flow, services []types.NamespacedName) bool {
	return slices.ContainsFunc(m.r.nodes.mixtures(), func(views []*view) bool {
		return calls(m.r.specs.of(views), f, services)
	})
}

// calls reports whether what a connection calls may be one of some services': several may claim an address.
func calls(s *oracle.Spec, f *flow, services []types.NamespacedName) bool {
	answer := s.Expect(f.attempt)
	return slices.Contains(services, answer.Service) ||
		slices.ContainsFunc(answer.Others, func(o oracle.Answer) bool { return slices.Contains(services, o.Service) })
}

// talk sends a packet of the client, and the server's answer if it takes it; taken says that the client took that.
func (m *moment) talk(f *flow) (taken bool, err error) {
	taken, err = m.send(f, oracle.Later{From: oracle.FromClient})
	if err != nil || !taken || f.silent && f.attempt.Protocol == corev1.ProtocolUDP {
		return false, err
	}
	return m.send(f, oracle.Later{From: oracle.FromServer})
}

// outOfWindow has the servers of TCP connections send packets that conntrack takes for no part of them.
func (m *moment) outOfWindow() error {
	for _, f := range m.r.kept.flows {
		if f.unsure || f.over || f.own || f.attempt.Protocol != corev1.ProtocolTCP {
			continue
		}
		taken, err := m.talk(f) // conntrack must have seen both ends to know what is a part
		if err == nil && taken {
			_, err = m.send(f, oracle.Later{From: oracle.FromServer, OutOfWindow: true})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// send sends a packet of a connection. It is taken if the socket at the other end, the same as at first, has it.
func (m *moment) send(f *flow, later oracle.Later) (taken bool, err error) {
	ways, err := f.sender.Send(sideOf(later), kindOf(later), netip.AddrPort{})
	if err != nil || len(ways) == 0 {
		return false, nil // an end of it is no more
	}
	m.r.report.Figures.Packets++
	f.judged.Moved(m.before)
	if f.unsure {
		f.judged.Went(later, likeliest(ways))
		return false, nil
	}
	allowed := f.judged.Expect(later)
	m.r.exercised(allowed.Clauses()...)
	wrong, err := m.violationsOf(f, later, ways)
	if err != nil {
		return false, err
	}
	for _, v := range wrong {
		if err := m.foundInFlow(f, later, &allowed, v); err != nil {
			return false, err
		}
	}
	way := likeliest(ways)
	f.judged.Went(later, way)
	switch {
	case later.From == oracle.FromServer:
	case allowed.Open, len(allowed.Others) > 0, allowed.Service.Name != "" && !m.settled():
		m.r.kept.affinity.MayHaveMade(m.after, f.attempt, way, m.r.time())
	case allowed.Service.Name != "":
		m.r.kept.affinity.Made(m.after, f.attempt, way, m.r.time())
	}
	return way.Heard && (later.From == oracle.FromServer || way.Server == f.sender.Way().Server), nil
}

// violationsOf judges a packet of a connection. Within a sync that changes what the rules of mode nftables do with it, as they refuse a
// packet of a flow that nobody has answered, it may meet the state after the sync too, and after a sync in doubt what that may have left.
func (m *moment) violationsOf(f *flow, later oracle.Later, ways []oracle.Way) ([]oracle.Violation, error) {
	found := f.judged.Judge(later, ways)
	if len(found) == 0 || m.settled() || !slices.ContainsFunc(m.r.nodes, (*nodeState).inNFTables) {
		return found, nil
	}
	for _, views := range m.r.nodes.mixtures() {
		if err := m.r.spend(1); err != nil {
			return nil, err
		}
		then := *f.judged
		then.Synced(m.r.specs.of(views))
		if len(then.Judge(later, ways)) == 0 {
			return nil, nil
		}
	}
	return found, nil
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
	if r.quiet || r.nodes.blind() {
		return nil
	}
	m := r.moment()
	switch {
	case s.Connect != nil && s.Connect.As != "" && m.settled():
		a, err := attemptOf(s.Connect, r.nodes[0].name)
		if err != nil {
			return err
		}
		if err := m.keepOne(m.after, a, s.Connect.Pick); err != nil {
			return err
		}
		f := r.kept.flows[len(r.kept.flows)-1]
		f.name, f.own, f.silent = s.Connect.As, true, true
	case s.Flow != nil:
		return m.packet(s.Flow)
	}
	return nil
}

// packet sends a packet of a connection that a step has kept.
func (m *moment) packet(p *scenarios.FlowPacket) error {
	place := slices.IndexFunc(m.r.kept.flows, func(f *flow) bool { return f.name == p.Of })
	if place < 0 {
		return nil // it was not kept, since nothing was certain
	}
	later := oracle.Later{
		From: oracle.FromClient, OutOfWindow: p.Send == scenarios.PacketOutOfWindow, Reset: p.Send == scenarios.PacketRST,
		Fin: p.Send == scenarios.PacketFIN,
	}
	if p.From == scenarios.SideServer {
		later.From = oracle.FromServer
	}
	_, err := m.send(m.r.kept.flows[place], later)
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

// attemptOf is the first packet of a connection of a step, by a node if it names none.
func attemptOf(c *scenarios.Connect, via string) (oracle.Attempt, error) {
	a := oracle.Attempt{From: c.From, Protocol: corev1.Protocol(strings.ToUpper(c.To.Proto)), To: c.To.AddrPort, Via: c.Via}
	a.Source = netip.AddrPortFrom(c.Bind.Addr, c.Bind.Port)
	if a.Via == "" {
		a.Via = via
	}
	return a, nil
}
