package netns

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
	"github.com/chainwalk/chainwalk/kindtest/internal/raw"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	simnet "github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// Send gives one packet to a node. Behind all rules it is stopped, so that nobody
// answers it and conntrack does not keep it.
func (s *session) Send(_ context.Context, name string, in inet.Input) (*scenarios.Observed, error) {
	n := s.nodes[name]
	if err := n.gate(in.Mark, true); err != nil {
		return nil, err
	}
	var count tally
	for tries := 1; count.tries < tries; {
		w, chancy, err := s.sendOnce(n, in)
		if err != nil {
			return nil, err
		}
		if chancy {
			tries = s.samples
		}
		count.add(w)
	}
	if err := n.gate(in.Mark, false); err != nil {
		return nil, err
	}
	return count.observed(), nil
}

// gate lets nothing out of a node, or lets everything out again. What comes in from a
// device gets the mark that the packet is to have.
func (n *nodeHost) gate(mark uint32, shut bool) error {
	var script strings.Builder
	rule := func(point, action string) {
		fmt.Fprintf(&script, "add rule inet %s %s %s\n", watchTable, gateOf(point), action)
	}
	if shut {
		rule(pointLocal, "drop")
		rule(pointOut, "drop")
	} else {
		for _, point := range []string{pointIn, pointLocal, pointOut} {
			fmt.Fprintf(&script, "flush chain inet %s %s\n", watchTable, gateOf(point))
		}
	}
	if shut && mark > 0 {
		rule(pointIn, fmt.Sprintf("meta mark set %d", mark))
	}
	_, err := tools.Run(n.exec, script.String(), "nft", "-f", "-")
	return err
}

func (s *session) sendOnce(n *nodeHost, in inet.Input) (w scenarios.Way, chancy bool, err error) {
	if err := s.forget(); err != nil {
		return w, false, err
	}
	s.questions++
	bytes := raw.Numbered(&in.Packet, uint32(s.questions))
	wanted, err := raw.Parse(bytes)
	if err != nil {
		return w, false, err
	}
	refused, err := n.headerErrors()
	if err != nil {
		return w, false, err
	}
	if err := s.put(n, in, bytes); err != nil {
		return w, false, fmt.Errorf("%s: send %s: %w", n.Name, in, err)
	}
	look := func() bool {
		w, chancy = s.sentWay(n, in, wanted)
		return w.End != scenarios.Lost
	}
	if err := s.settle(nil, func() bool { return false }, look); err != nil {
		return w, false, err
	}
	look()
	if now, err := n.headerErrors(); err == nil && now > refused && len(w.Forward) == 0 {
		w.Reason = "address is not allowed on the wire: the kernel refuses the header before any rule"
	}
	return w, chancy, s.takeBackState()
}

var headerErrorsLine = lazyregexp.New(`Ip6InHdrErrors\s+(\d+)`)

// headerErrors is how many IPv6 packets the node has refused before any rule, for
// addresses that may not be in a header among other things.
func (n *nodeHost) headerErrors() (count int, err error) {
	err = n.ns.Do(func() error {
		text, err := os.ReadFile("/proc/thread-self/net/snmp6")
		if m := headerErrorsLine().FindSubmatch(text); err == nil && m != nil {
			count, err = strconv.Atoi(string(m[1]))
		}
		return err
	})
	return count, err
}

// put gives the packet to the node: by a socket of its own, or from the other end of
// a wire.
func (s *session) put(n *nodeHost, in inet.Input, bytes []byte) error {
	if in.Local {
		return n.ns.Do(func() error { return raw.Inject(bytes, in.Dst, in.Mark) })
	}
	from, device := n.ns, in.In
	switch pod := s.network.host(in.In); {
	case pod != nil:
		from, device = pod.ns, pod.Devices[0].Name
	case in.In != "lo":
		place := slices.IndexFunc(s.network.plan.Segment, func(p simnet.Port) bool { return p.Host == n.Name })
		from, device = s.network.underlay, underlayPort(place)
	}
	mac, err := s.hardwareAddress(n, in)
	if err != nil {
		return err
	}
	return from.Do(func() error {
		dev, err := net.InterfaceByName(device)
		if err != nil {
			return err
		}
		return raw.InjectOn(bytes, dev.Index, mac)
	})
}

// hardwareAddress is that of the node's device by which the packet comes.
func (s *session) hardwareAddress(n *nodeHost, in inet.Input) (net.HardwareAddr, error) {
	name := in.In
	for port, pod := range s.network.plan.Pods {
		if port.Host == n.Name && pod == in.In {
			name = port.Device
		}
	}
	link, err := n.ns.link.LinkByName(name)
	if err != nil {
		return nil, err
	}
	if mac := link.Attrs().HardwareAddr; len(mac) > 0 {
		return mac, nil
	}
	return make(net.HardwareAddr, 6), nil
}

// sentWay is what the node has done with the packet so far.
func (s *session) sentWay(n *nodeHost, in inet.Input, wanted *raw.Capture) (w scenarios.Way, chancy bool) {
	seen := s.network.passages()
	for _, p := range seen[n.host] {
		if p.first.Print != wanted.Print || (p.in == "") != in.Local {
			continue
		}
		j := journey{p}
		w, chancy = j.way(), j.chancy()
		w.Heard = true
		w.End, w.With = p.ending()
		switch {
		case p.local:
			w.Out, w.Reason = "local", ""
		case p.out != "":
			w.Out, w.Reason = s.network.device(n.host, p.out), ""
			w.Decide(j.decision())
		default:
			w.Reason = s.reason(p, seen, &w)
		}
		return w, chancy
	}
	w = scenarios.Way{
		End: scenarios.Lost, Host: n.Name, Heard: true,
		Server: wanted.Destination(), Client: wanted.Source(), Sender: wanted.Source(),
	}
	w.Reason = "it does not come to the rules"
	return w, false
}
