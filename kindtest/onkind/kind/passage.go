package kind

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// watch looks at packets on the nodes and in the container outside, and at those of a client that is a pod, until it is ended.
type watch struct {
	backend *Backend
	name    string
	agents  []agent
}

// startWatch begins to look. Clients are agents whose packets are looked at beside those of the machines.
func (t *traffic) startWatch(ctx context.Context, clients ...agent) (*watch, error) {
	w := &watch{backend: t.backend, name: fmt.Sprintf("passage%d", t.watches.Add(1))}
	for _, machine := range t.backend.machines() {
		w.agents = append(w.agents, agent{machine, machine})
	}
	for _, c := range clients {
		if !slices.Contains(w.agents, c) {
			w.agents = append(w.agents, c)
		}
	}
	err := together(w.agents, func(a agent) error { return t.backend.relays[a.machine].Capture(ctx, a.name, w.name) })
	return w, err
}

// end ends it.
func (w *watch) end(ctx context.Context) error {
	return together(w.agents, func(a agent) error { return w.backend.relays[a.machine].Release(ctx, a.name, w.name) })
}

// sighting is a packet as it was seen by an agent.
type sighting struct {
	at agent
	probe.Sighting
	packet inet.Packet
}

// of are the sightings of one packet that an agent has sent, along its way.
func (w *watch) of(ctx context.Context, sender agent, print string) ([]sighting, error) {
	seen := map[agent][]sighting{}
	var mu sync.Mutex
	err := together(w.agents, func(a agent) error {
		said, err := w.backend.relays[a.machine].Captured(ctx, a.name, probe.Captured{Name: w.name, Print: print})
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for _, one := range said {
			if s, ok := readSighting(a, one); ok && !one.Answer {
				seen[a] = append(seen[a], s)
			}
		}
		return nil
	})
	return journey(seen, sender), err
}

// arrivedOf is of for a packet that may be under way still: as soon as a host has taken it, or nobody has seen it once more for a while.
func (w *watch) arrivedOf(ctx context.Context, sender agent, print string) ([]sighting, error) {
	var before []sighting
	for range settleTimes {
		seen, err := w.of(ctx, sender, print)
		if err != nil || len(seen) > 0 && (seen[len(seen)-1].Point == probe.Local || len(seen) == len(before)) {
			return seen, err
		}
		before = seen
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(w.backend.sentinel.pace.underWay()):
		}
	}
	return before, nil
}

// journey puts the sightings of one packet along its way: from its sender, or from where it was seen first if its sender does not look,
// to whom it came as it left. Times of several machines are not compared.
func journey(seen map[agent][]sighting, sender agent) []sighting {
	open := map[agent][][]sighting{}
	agents := []agent{sender}
	for _, a := range slices.SortedFunc(maps.Keys(seen), func(a, b agent) int { return cmp.Compare(a.name, b.name) }) {
		open[a] = passages(seen[a])
		if a != sender {
			agents = append(agents, a)
		}
	}
	take := func(wanted func([]sighting) bool) []sighting {
		for _, a := range agents {
			for i, p := range open[a] {
				if wanted(p) {
					open[a] = slices.Delete(open[a], i, i+1)
					return p
				}
			}
		}
		return nil
	}
	way := take(func([]sighting) bool { return true })
	for len(way) > 0 {
		last := way[len(way)-1]
		if last.Point != probe.Out {
			break
		}
		next := take(func(p []sighting) bool {
			return p[0].Point == probe.In && sourceOf(&p[0].packet) == sourceOf(&last.packet) &&
				destinationOf(&p[0].packet) == destinationOf(&last.packet)
		})
		if next == nil {
			break
		}
		way = append(way, next...)
	}
	return way
}

// inOrder puts the sightings of one host in the order in which its kernel had them; an agent gets them from several sockets. A packet
// comes in and is delivered at the same time.
func inOrder(seen []sighting) {
	rank := map[probe.Point]int{probe.In: 0, probe.Local: 1, probe.Out: 2}
	slices.SortStableFunc(seen, func(a, b sighting) int {
		return cmp.Or(a.When.Compare(b.When), cmp.Compare(rank[a.Point], rank[b.Point]))
	})
}

// passages are the ways of a packet through one host: it may come there more than once.
func passages(seen []sighting) [][]sighting {
	inOrder(seen)
	var out [][]sighting
	for i := range seen {
		if i == 0 || seen[i].Point == probe.In {
			out = append(out, nil)
		}
		last := len(out) - 1
		out[last] = append(out[last], seen[i])
	}
	return out
}

// readSighting reads the packet of a sighting.
func readSighting(a agent, one probe.Sighting) (sighting, bool) {
	in, err := inet.ParseInput(one.Packet)
	return sighting{at: a, Sighting: one, packet: in.Packet}, err == nil
}

// sent are the prints of packets that an agent has sent from one port to another, and that are as wanted, in order.
func (w *watch) sent(ctx context.Context, a agent, like inet.Packet, wanted func(*inet.Packet) bool) ([]string, error) {
	if !like.Src.IsValid() {
		like.Src = unspecified(like.Dst.Is6())
	}
	text := inet.Input{Packet: like, Local: true}.String()
	seen, err := w.backend.relays[a.machine].Captured(ctx, a.name, probe.Captured{Name: w.name, Like: text})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, one := range seen {
		if s, ok := readSighting(a, one); ok && wanted(&s.packet) && !slices.Contains(out, one.Print) {
			out = append(out, one.Print)
		}
	}
	return out, nil
}

// reset reports whether a sender's segment of TCP was answered by a reset, or is within a while.
func (w *watch) reset(ctx context.Context, sender agent, from, to netip.AddrPort) (bool, error) {
	sent := inet.Input{Local: true, Packet: inet.Packet{
		Proto: inet.TCP, Src: from.Addr(), SrcPort: from.Port(), Dst: to.Addr(), DstPort: to.Port(), TCPFlags: inet.ACK,
	}}
	seen, err := w.backend.relays[sender.machine].Captured(ctx, sender.name,
		probe.Captured{Name: w.name, Refusing: sent.String(), Wait: w.backend.sentinel.pace.silence(Unforetold)})
	return slices.ContainsFunc(seen, func(s probe.Sighting) bool { return s.Answer }), err
}

// arrival is where a packet has come to, and how it looked there.
type arrival struct {
	// host is the node, pod or machine of the scenario where it came to; the router where that is nobody.
	host string
	// arrived says that it came to host; otherwise it stopped on its way through it.
	arrived bool
	// wire says that it left a host, and nobody took it.
	wire           bool
	client, server netip.AddrPort
	device         string // by which it left
}

// arrivalOf works out from the sightings along its way what became of a packet. It is false where nobody has seen it.
func arrivalOf(b *Backend, m *Mapping, seen []sighting) (arrival, bool) {
	if len(seen) == 0 {
		return arrival{}, false
	}
	last := &seen[len(seen)-1]
	a := arrival{
		client: m.BackPort(sourceOf(&last.packet)), server: m.BackPort(destinationOf(&last.packet)), device: last.Device,
	}
	owner := m.Owner(a.server.Addr())
	outside := last.at.machine == b.facts.Outside.Name
	node := m.nodeNamed(last.at.machine)
	switch {
	case last.Point == probe.Local:
		a.host, a.arrived = cmp.Or(owner, node, scenarios.RouterName), true
	case outside && m.outsideOwns(owner):
		a.host, a.arrived = owner, true
	case outside:
		a.host, a.wire = scenarios.RouterName, true
	case last.Point == probe.Out && m.cluster.Pod(owner) != nil && m.hosts[owner].Machine == last.at.machine:
		a.host, a.arrived = owner, true
	case last.Point == probe.Out:
		a.host, a.wire = cmp.Or(node, owner), true
	default:
		a.host = node
	}
	return a, true
}

// nodeNamed is the scenario's name of a node of the cluster, its own if the scenario has none there.
func (m *Mapping) nodeNamed(in string) string {
	for of, real := range m.nodes {
		if real == in {
			return of
		}
	}
	return in
}

func (m *Mapping) outsideOwns(name string) bool {
	return slices.ContainsFunc(m.cluster.Outside, func(one scenarios.Machine) bool { return one.Name == name })
}

func sourceOf(p *inet.Packet) netip.AddrPort { return netip.AddrPortFrom(p.Src, p.SrcPort) }

func destinationOf(p *inet.Packet) netip.AddrPort { return netip.AddrPortFrom(p.Dst, p.DstPort) }

// hops are what the sightings show of a packet's way, for reports.
func (m *Mapping) hops(seen []sighting) []scenarios.Hop {
	var out []scenarios.Hop
	for i := range seen {
		s := &seen[i]
		out = append(out, scenarios.Hop{
			Host: m.nodeNamed(s.at.name), Packet: m.BackText(s.Packet), Result: fmt.Sprintf("seen %s %s", s.Point, s.Device),
		})
	}
	return out
}
