package kind

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// Send puts a packet on a device of a node, as somebody behind that device would, and looks how it leaves. Where chance has a part in
// that, it does so many times, from one port after the other, and forgets it again.
func (t *traffic) Send(ctx context.Context, node string, in inet.Input) (*scenarios.Observed, error) {
	if err := t.leadNowhere(ctx, []netip.Addr{in.Dst}, ""); err != nil {
		return nil, err
	}
	times := 1
	to := netip.AddrPortFrom(in.Dst, in.DstPort)
	if in.Proto.HasPorts() && t.chancy(to) {
		times = t.backend.options.Samples
	}
	from, hardware, err := t.injector(ctx, node, in)
	if err != nil {
		return nil, err
	}
	w, err := t.startWatch(ctx, agent{t.mapping.Node(node), t.mapping.Node(node)})
	if err != nil {
		return nil, errors.Join(err, w.end(ctx))
	}
	var ways []scenarios.Way
	for i := range times {
		way, sendErr := t.sendOnce(ctx, w, node, from, hardware, in, i)
		if err = sendErr; err != nil {
			break
		}
		ways = append(ways, way)
	}
	anyPort := netip.AddrPortFrom(t.mapping.To(in.Src), 0)
	forgetErr := t.forget(ctx, protoOfScenario(in.Proto), anyPort, netip.AddrPortFrom(t.mapping.To(in.Dst), in.DstPort))
	return observed(ways), errors.Join(err, forgetErr, w.end(ctx))
}

// injector is the agent that puts a packet on a node's device, and the hardware address of that device: for eth0 the container outside,
// for a pod's device the pod.
func (t *traffic) injector(ctx context.Context, node string, in inet.Input) (agent, net.HardwareAddr, error) {
	at := t.mapping.Node(node)
	name := in.In
	from := agent{at, at}
	switch {
	case in.Local, in.In == "lo":
		return from, nil, nil
	case in.In == device:
		from = agent{t.backend.facts.Outside.Name, t.backend.facts.Outside.Name}
	default:
		pod, ok := t.mapping.Host(in.In)
		if !ok {
			return from, nil, fmt.Errorf("%s has no device %q", node, in.In)
		}
		from = agent{pod.Machine, pod.Agent}
		var err error
		if name, err = t.deviceTo(ctx, at, pod.Addresses[0]); err != nil {
			return from, nil, err
		}
	}
	devices, err := t.relay(at).Devices(ctx, at)
	if err != nil {
		return from, nil, err
	}
	for _, d := range devices {
		if d.Name == name {
			return from, d.Hardware, nil
		}
	}
	return from, nil, fmt.Errorf("%s has no device %q", at, name)
}

// sendOnce sends the packet once, from a port of its own.
func (t *traffic) sendOnce(ctx context.Context, w *watch, node string, from agent, to net.HardwareAddr, in inet.Input,
	number int) (scenarios.Way, error) {
	mapped := in
	mapped.Src, mapped.Dst = t.mapping.To(in.Src), t.mapping.To(in.Dst)
	if in.Proto.HasPorts() {
		mapped.SrcPort += uint16(number)
	}
	if !in.Local && in.In != "lo" {
		mapped.In = device
	}
	t.sent++
	print, err := t.relay(from.machine).Inject(ctx, from.name, probe.Injection{Packet: mapped.String(), To: to, Number: t.sent})
	if err != nil {
		return scenarios.Way{}, err
	}
	seen, err := w.settled(ctx, t.mapping.Node(node), print, mapped.String())
	if err != nil {
		return scenarios.Way{}, err
	}
	return t.sentWay(node, &in, &mapped, seen), nil
}

func protoOfScenario(p inet.Proto) string {
	if p.IsICMP() {
		return protoICMP
	}
	return p.String()
}

// settleTimes is how often at most a packet is waited for to be seen once more.
const settleTimes = 5

// settled are the sightings of a packet on a node, and of what refuses it, once it has left the node, or after a while.
func (w *watch) settled(ctx context.Context, node, print, packet string) ([]sighting, error) {
	var out []sighting
	for range settleTimes {
		seen, err := w.backend.relays[node].Captured(ctx, node,
			probe.Captured{Name: w.name, Print: print, Refusing: packet, After: len(out), Wait: w.backend.sentinel.pace.silence(Unforetold)})
		if err != nil {
			return nil, err
		}
		done := false
		for _, one := range seen {
			if s, ok := readSighting(agent{node, node}, one); ok {
				out = append(out, s)
				done = done || one.Answer || one.Point == probe.Local || one.Point == probe.Out && one.Device != "lo"
			}
		}
		if done || len(seen) == 0 {
			break
		}
	}
	inOrder(out)
	return out, nil
}

// sentWay is what a node has done with a packet, by what was seen of it there.
func (t *traffic) sentWay(node string, in, mapped *inet.Input, seen []sighting) scenarios.Way {
	back := t.mapping.BackPort
	own := func(a netip.AddrPort) netip.AddrPort { // with the port that the scenario has
		if a.Port() == mapped.SrcPort && a.Port() != 0 {
			return netip.AddrPortFrom(t.mapping.Back(a.Addr()), in.SrcPort)
		}
		return back(a)
	}
	way := scenarios.Way{
		Probability: 1, End: scenarios.Dropped, Host: node, Heard: true, Sender: netip.AddrPortFrom(in.Src, in.SrcPort),
		Server: netip.AddrPortFrom(in.Dst, in.DstPort), Client: netip.AddrPortFrom(in.Src, in.SrcPort), Forward: t.mapping.hops(seen),
	}
	for i := range seen {
		one := &seen[i]
		switch {
		case one.Answer && way.Out == "": // of the node itself: what is answered by others has left it first
			way.End, way.With = scenarios.Rejected, one.With
			return way
		case one.Answer:
		case one.Point == probe.Local:
			way.End, way.Out = scenarios.Delivered, "local"
			way.Server, way.Client = back(destinationOf(&one.packet)), own(sourceOf(&one.packet))
		case one.Point == probe.Out && one.Device != "lo":
			way.End, way.Server, way.Client = scenarios.Delivered, back(destinationOf(&one.packet)), own(sourceOf(&one.packet))
			way.Out = one.Device
			if owner := t.mapping.Owner(way.Server.Addr()); t.cluster.Pod(owner) != nil && !strings.HasPrefix(one.Device, device) {
				way.Out = owner
			}
		}
	}
	way.Masqueraded = translated(&way)
	return way
}
