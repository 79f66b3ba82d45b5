package netns

import (
	"fmt"
	"net/netip"

	"github.com/chainwalk/chainwalk/kindtest/internal/raw"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// passage is a packet's way through one host.
type passage struct {
	host  *host
	first *raw.Capture // as it came, or as it was sent
	in    string       // the device, empty for a packet that the host sent
	steps []packetsim.Step
	now   *raw.Capture // as it was seen last
	last  *raw.Capture // as it left or was delivered; nil if it was neither
	out   string       // the device by which it left
	local bool         // it was delivered here
	taken bool
}

// passages are the ways through a host of all packets that were seen there, in order.
// A packet that a host sends to itself comes in again by lo; that is one passage.
func (h *host) passages() []*passage {
	var all []*passage
	open := map[string]*passage{}
	for i := range h.watch.seen {
		s := &h.watch.seen[i]
		p := open[s.Print]
		switch {
		case p == nil && s.point != pointIn && s.point != pointSent:
			continue // of a packet that came before the look at it began
		case s.point == pointIn && s.inDev == "lo" && p != nil:
			p.last, p.out = nil, ""
		case s.point == pointIn || s.point == pointSent:
			p = &passage{host: h, first: s.Capture, in: s.inDev}
			p.first.Mark = s.mark
			open[s.Print] = p
			all = append(all, p)
		}
		p.now = s.Capture
		switch s.point {
		case pointLocal:
			p.last, p.local = s.Capture, true
		case pointOut:
			p.last, p.out = s.Capture, s.oDev
			p.last.Mark = s.mark
		case "":
			p.steps = append(p.steps, s.step)
		}
	}
	return all
}

// journey is a packet's way from host to host.
type journey []*passage

func (j journey) end() *passage { return j[len(j)-1] }

// passages are all that were seen in the network, by host.
type passages map[*host][]*passage

func (n *network) passages() passages {
	all := passages{}
	for _, h := range n.hosts {
		all[h] = h.passages()
	}
	return all
}

// sent finds the first packet that a host sent and that is as wanted.
func (s passages) sent(h *host, wanted func(*raw.Capture) bool) *passage {
	for _, p := range s[h] {
		if p.in == "" && !p.taken && wanted(p.first) {
			return p
		}
	}
	return nil
}

// journey follows a packet from where it was sent, or came in.
func (s passages) journey(n *network, first *passage) journey {
	j := journey{first}
	first.taken = true
	for {
		end := j.end()
		if end.local || end.out == "" {
			return j
		}
		next := s.next(n, end)
		if next == nil {
			return j
		}
		next.taken = true
		j = append(j, next)
	}
}

// next is where a packet came that left a host. Hosts behind that one may see it with
// the same addresses, but not with the same TTL.
func (s passages) next(n *network, before *passage) *passage {
	for _, h := range n.hosts {
		for _, p := range s[h] {
			if !p.taken && p.in != "" && p.first.Print == before.last.Print && p.first.TTL == before.last.TTL &&
				p.first.Source() == before.last.Source() && p.first.Destination() == before.last.Destination() {
				return p
			}
		}
	}
	return nil
}

// ending is how a packet's passage through a host ended, and with what a rule has answered it.
func (p *passage) ending() (end scenarios.End, with string) {
	if p.local || p.out != "" {
		return scenarios.Delivered, ""
	}
	switch d := packetsim.DecisionOf(p.steps); d.Verdict {
	case packetsim.Drop:
		return scenarios.Dropped, ""
	case packetsim.Reject:
		return scenarios.Rejected, d.RejectWith
	}
	return scenarios.Lost, ""
}

// decision is what the rules on the packet's way decided.
func (j journey) decision() packetsim.Decision {
	var hosts [][]packetsim.Step
	for _, p := range j {
		hosts = append(hosts, p.steps)
	}
	return packetsim.DecisionOf(hosts...)
}

// way is what became of a packet, as far as its own journey tells it.
func (j journey) way() scenarios.Way {
	end := j.end()
	final := end.now
	if end.last != nil {
		final = end.last
	}
	w := scenarios.Way{
		Host:   end.host.Name,
		Sender: icmpless(j[0].first, j[0].first.Source()), Server: icmpless(final, final.Destination()), Client: icmpless(final, final.Source()),
		Forward: j.hops(),
	}
	w.End, w.With = end.ending()
	if w.End == scenarios.Delivered && !end.local {
		w.End, w.Reason, w.OnTheWire = scenarios.Lost, "nobody takes it from "+end.out, true
	}
	w.Decide(j.decision())
	return w
}

// icmpless takes the port from an address of a packet that has none.
func icmpless(f *raw.Capture, a netip.AddrPort) netip.AddrPort {
	if f.Proto.HasPorts() {
		return a
	}
	return netip.AddrPortFrom(a.Addr(), 0)
}

func (j journey) hops() []scenarios.Hop {
	var hops []scenarios.Hop
	for _, p := range j {
		in := inet.Input{Packet: p.first.Shown(), In: p.in, Local: p.in == ""}
		hops = append(hops, scenarios.Hop{Host: p.host.Name, Packet: in.String(), Steps: scenarios.TraceOf(p.steps), Result: p.result()})
	}
	return hops
}

// result says in words what a host did with a packet.
func (p *passage) result() string {
	switch {
	case p.local:
		return "delivered here as " + p.last.Header()
	case p.out != "":
		return fmt.Sprintf("leaves by %s as %s", p.out, p.last.Header())
	}
	switch end, with := p.ending(); end {
	case scenarios.Rejected:
		return "rejected with " + with
	case scenarios.Dropped:
		return "dropped"
	}
	return "lost"
}
