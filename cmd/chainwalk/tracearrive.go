package main

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

// arrive says how the packet comes to a node, if the packet does not: that of a named object, or of an address that the port of a bridge
// is known to lead to. The node that it returns has its pods behind the ports of its bridges.
func (p *namedPacket) arrive(taken *snapshot.NodeSnapshot) (node *snapshot.NodeSnapshot, assumed map[netip.Addr]string) {
	cluster := live.Cluster{Objects: p.cluster.Objects}
	sender := p.Src
	if p.In != "" || p.Local {
		sender = netip.Addr{}
	}
	placed := cluster.Place(taken, sender)
	if p.In != "" || p.Local {
		return placed.NodeSnapshot, placed.Assumed
	}
	switch device := arrivesBy(placed.NodeSnapshot, p.Src); {
	case p.source != nil && p.source.Host && p.source.Node == taken.Hostname, p.source != nil && device == "local":
		p.Local = true
	case p.source != nil, portTo(taken, masterOf(taken, device), p.Src) != "":
		p.In = device
	}
	return placed.NodeSnapshot, placed.Assumed
}

// masterOf is the bridge that a device is a port of; empty if it is none.
func masterOf(node *snapshot.NodeSnapshot, device string) string {
	for i := range node.Devices {
		if node.Devices[i].Name == device {
			return node.Devices[i].Master
		}
	}
	return ""
}

// addAssumed says what was taken for granted of the places of the packet's ends, and of the way of the answer.
func addAssumed(assumed map[netip.Addr]string, result *packetsim.TraceResult) {
	doubted := false
	for _, end := range endsOf(result) {
		text := assumed[end]
		switch {
		case text == "":
		case !hairpinDecides(result):
			result.Notes = addNew(result.Notes, text)
		case !doubted:
			doubted = true
			result.Doubts = append(result.Doubts, packetsim.Doubt{Kind: packetsim.DoubtAssumed,
				Unless: "hairpin mode is another one there: " + text, See: "ip -d -j link; bridge -j fdb; ip -j neigh"})
		}
	}
	for i := range result.Outcomes {
		o := &result.Outcomes[i]
		if o.Back == nil {
			continue
		}
		if told := o.Back.Elsewhere && o.DNAT != ""; o.Back.Outcome == nil && !told {
			result.Notes = addNew(result.Notes, o.Back.Why)
		}
		result.Notes = addNew(result.Notes, o.Back.Assumed)
	}
}

// addNew adds a note that says something, if it is not there.
func addNew(notes []string, note string) []string {
	if note == "" || slices.Contains(notes, note) {
		return notes
	}
	return append(notes, note)
}

// endsOf are the addresses that send the packet and get it.
func endsOf(result *packetsim.TraceResult) []netip.Addr {
	ends := []netip.Addr{result.Input.Src}
	for i := range result.Outcomes {
		if to := result.Outcomes[i].Inside().Dst; !slices.Contains(ends, to) {
			ends = append(ends, to)
		}
	}
	return ends
}

// hairpinDecides says whether a port of a bridge was to give the packet, or its answer, back to where it came from.
func hairpinDecides(result *packetsim.TraceResult) bool {
	back := func(in string, o *packetsim.Outcome) bool {
		return o.Reason == packetsim.ReasonNoHairpin || in != "" && o.Port == in
	}
	return slices.ContainsFunc(result.Outcomes, func(o packetsim.Outcome) bool {
		return back(result.Input.In, &o) || o.Back != nil && o.Back.Outcome != nil && back(o.Back.Input.In, o.Back.Outcome)
	})
}

// checkArrival wants to know how a packet comes to a node.
func checkArrival(node *snapshot.NodeSnapshot, in inet.Input) error {
	var names []string
	for i := range node.Devices {
		if node.Devices[i].Name == in.In {
			return nil
		}
		names = append(names, node.Devices[i].Name)
	}
	switch {
	case in.Local:
		return nil
	case in.In != "":
		return fmt.Errorf("packet: node %s has no device %q: write one of %s", node.Hostname, in.In, strings.Join(names, ", "))
	}
	advice := fmt.Sprintf("\"in DEVICE\" (one of %s), or \"local\" for what the node sends itself", strings.Join(names, ", "))
	if device := arrivesBy(node, in.Src); device == "local" {
		advice = fmt.Sprintf("\"local\", since %s is its own address", in.Src)
	} else if device != "" {
		advice = fmt.Sprintf("\"in %s\", where its route to %s goes, or \"local\" for what the node sends itself", device, in.Src)
	}
	return fmt.Errorf("packet: it does not say how it comes to node %s: write %s", node.Hostname, advice)
}

// arrivesBy is the device that the main table has for an address, of a bridge the port if it is known, "local" for an address of the
// node, "" if neither is known.
func arrivesBy(node *snapshot.NodeSnapshot, addr netip.Addr) string {
	device, bits := "", -1
	for i := range node.Routes {
		r := &node.Routes[i]
		if r.Table == packetsim.TableMain && r.Dev != "" && r.Dst.Contains(addr) && r.Dst.Bits() > bits {
			device, bits = r.Dev, r.Dst.Bits()
		}
	}
	for i := range node.Devices {
		if slices.ContainsFunc(node.Devices[i].Addresses, func(a snapshot.Address) bool { return a.Prefix.Addr() == addr }) {
			return "local"
		}
	}
	if port := portTo(node, device, addr); port != "" {
		return port
	}
	return device
}

// portTo is the port of a bridge that an address is behind; empty if no port is known to be.
func portTo(node *snapshot.NodeSnapshot, bridge string, addr netip.Addr) string {
	for i := range node.Devices {
		if d := &node.Devices[i]; bridge != "" && d.Master == bridge && slices.Contains(d.Neighbours, addr) {
			return d.Name
		}
	}
	return ""
}
