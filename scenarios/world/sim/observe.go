package sim

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// Observer says in the words of scenarios what a network does that was laid out by a plan.
type Observer struct {
	Network *network.Network
	Plan    *plan.Plan
	Pods    map[network.Port]string // the pods behind nodes' devices
}

// Connect makes a connection along every way that it can take, and leaves the network as it was.
func (o Observer) Connect(a scenarios.Attempt) (*scenarios.Observed, error) {
	connections, err := o.Network.Connect(o.connectOf(a))
	return o.observed(a, connections), err
}

// establish is Connect, and keeps one of the connections.
func (o Observer) establish(a scenarios.Attempt) (*network.Flow, *scenarios.Observed, error) {
	var ways []network.Connection
	kept := -1
	flow, err := o.Network.Establish(o.connectOf(a), func(all []network.Connection) int {
		ways, kept = all, choose(all, a.Pick)
		return kept
	})
	if err != nil && a.Pick.IsValid() && kept < 0 {
		err = fmt.Errorf("keep %s: no way leads to %s", a.Keep, a.Pick)
	}
	if err != nil {
		return nil, nil, err
	}
	seen := o.observed(a, ways)
	seen.Kept = kept
	return flow, seen, nil
}

// Resume is a connection that was made before, as it was seen to be: its way has the addresses of both ends, and what hosts on the way
// know of it they know already.
func (o Observer) Resume(a scenarios.Attempt, way *scenarios.Way) (*network.Flow, error) {
	return o.Network.Resume(o.connectOf(a), network.Ends{Socket: way.Sender, Server: way.Host, Asked: way.Server, Client: way.Client})
}

// Connect makes a connection along every way that it can take.
func (w *World) Connect(ctx context.Context, a scenarios.Attempt) (*scenarios.Observed, error) {
	defer w.until(ctx)()
	if a.Keep == "" {
		return w.observer().Connect(a)
	}
	flow, seen, err := w.observer().establish(a)
	if err == nil {
		w.flows[a.Keep] = &keptFlow{flow, a}
	}
	return seen, err
}

// until has packets end when the context does, if they are to. What it returns ends that.
func (w *World) until(ctx context.Context) func() {
	if w.breaks {
		w.network.Interrupted = ctx.Err
	}
	return func() { w.network.Interrupted = nil }
}

func (w *World) observer() Observer { return Observer{w.network, w.plan, w.plan.Pods} }

// keptFlow is a connection that later steps come back to.
type keptFlow struct {
	*network.Flow
	attempt scenarios.Attempt
}

func (o Observer) connectOf(a scenarios.Attempt) network.Connect {
	return network.Connect{
		From: a.From, Proto: plan.Proto(a.To.Proto, a.To.Addr().Is6()), To: a.To.AddrPort,
		Source: a.Bind.Addr, SourcePort: a.Bind.Port, Via: o.Plan.Gateway(a.Via, a.To.Addr().Is6()),
	}
}

// choose is the connection to keep: the one to pick, otherwise the made one with
// the lowest endpoint, otherwise the first.
func choose(all []network.Connection, pick netip.AddrPort) int {
	return chooseOf(len(all), pick, func(i int) (netip.AddrPort, bool) { return all[i].Asked, all[i].Made })
}

// chooseReached is choose for ways without text.
func chooseReached(all []network.Reached, pick netip.AddrPort) int {
	return chooseOf(len(all), pick, func(i int) (netip.AddrPort, bool) { return all[i].Asked, all[i].Made })
}

func chooseOf(ways int, pick netip.AddrPort, way func(int) (asked netip.AddrPort, made bool)) int {
	best, lowest := -1, netip.AddrPort{}
	for i := range ways {
		asked, made := way(i)
		switch {
		case pick.IsValid() && asked == pick:
			return i
		case pick.IsValid() || !made:
		case best < 0 || asked.Compare(lowest) < 0:
			best, lowest = i, asked
		}
	}
	if best < 0 && !pick.IsValid() && ways > 0 {
		return 0
	}
	return best
}

func (o Observer) observed(a scenarios.Attempt, connections []network.Connection) *scenarios.Observed {
	seen := &scenarios.Observed{}
	for i := range connections {
		seen.Ways = append(seen.Ways, o.connectionWay(a, &connections[i]))
	}
	return seen
}

func (o Observer) connectionWay(a scenarios.Attempt, c *network.Connection) scenarios.Way {
	if len(c.Forward.Hops) == 0 {
		return scenarios.Way{Probability: c.Probability, End: scenarios.Lost, Host: a.From, Reason: c.Why, Server: a.To.AddrPort}
	}
	way := o.journeyWay(&c.Forward)
	way.Probability, way.Sender, way.Why = c.Probability, c.Socket, c.Why
	way.Heard = c.Made || c.Refused
	if c.Back != nil {
		way.Back = hopsOf(c.Back)
	}
	return way
}

// journeyWay is what became of one packet.
func (o Observer) journeyWay(j *network.Journey) scenarios.Way {
	p := &j.Packet
	way := scenarios.Way{
		Probability: j.Probability,
		Host:        j.At,
		Server:      netip.AddrPortFrom(p.Dst, p.DstPort),
		Client:      netip.AddrPortFrom(p.Src, p.SrcPort),
		Forward:     hopsOf(j),
	}
	if first := &j.Hops[0].Outcome.Packet; first.Src.IsValid() {
		way.Sender = netip.AddrPortFrom(j.Hops[0].Input.Src, j.Hops[0].Input.SrcPort)
	}
	switch last := &j.Hops[len(j.Hops)-1].Outcome; j.End {
	case network.EndDelivered:
		way.End = scenarios.Delivered
		if !o.Network.Host(j.At).Listeners.Accept(p.Proto, way.Server) {
			way.End = scenarios.Refused
		}
	case network.EndLost, network.EndLooped:
		way.End, way.Reason, way.OnTheWire = scenarios.Lost, j.Why, j.End == network.EndLost
	default:
		way.End, way.With, way.Reason = endOf(last)
	}
	way.Decide(decisionOf(j))
	return way
}

// endOf tells what a rule decided from what the kernel decided without one.
func endOf(o *packetsim.Outcome) (end scenarios.End, with, reason string) {
	switch {
	case o.Verdict == packetsim.Reject && o.RejectWith != "" && o.Reason == "":
		return scenarios.Rejected, o.RejectWith, ""
	case o.Verdict == packetsim.Drop && o.Reason == "":
		return scenarios.Dropped, "", ""
	}
	return scenarios.Lost, "", o.Why
}

// decisionOf is what the rules on a packet's way decided.
func decisionOf(j *network.Journey) packetsim.Decision {
	var hosts [][]packetsim.Step
	for i := range j.Hops {
		hosts = append(hosts, j.Hops[i].Outcome.Steps)
	}
	return packetsim.DecisionOf(hosts...)
}

func hopsOf(j *network.Journey) []scenarios.Hop {
	var out []scenarios.Hop
	for i := range j.Hops {
		hop := &j.Hops[i]
		out = append(out, scenarios.Hop{
			Host:   hop.Host,
			Packet: hop.Input.String(),
			Steps:  scenarios.TraceOf(hop.Outcome.Steps),
			Result: resultOf(&hop.Outcome),
			Input:  hop.Input,
			Walk:   &hop.Outcome,
		})
	}
	if len(out) > 0 && j.End == network.EndLost {
		out[len(out)-1].Result = "lost: " + j.Why
	}
	return out
}

// resultOf says in words what a host did with a packet.
func resultOf(o *packetsim.Outcome) string {
	switch {
	case o.Verdict == packetsim.Accept && o.To == packetsim.ToLocal:
		return "delivered here as " + o.Packet.Header()
	case o.Verdict == packetsim.Accept:
		return fmt.Sprintf("leaves by %s as %s", o.Out, o.Packet.Header())
	case o.Reason != "":
		return fmt.Sprintf("%s: %s", o.Verdict, o.Why)
	case o.RejectWith != "":
		return "rejected with " + o.RejectWith
	}
	return "dropped"
}

// Follow sends a later packet of a kept connection.
func (w *World) Follow(ctx context.Context, p scenarios.FlowPacket) (*scenarios.Observed, error) {
	defer w.until(ctx)()
	flow := w.flows[p.Of]
	return w.observer().Follow(flow.Flow, flow.attempt, p)
}

// Follow sends a later packet of a connection, which an attempt began. What it does to hosts stays.
func (o Observer) Follow(flow *network.Flow, began scenarios.Attempt, p scenarios.FlowPacket) (*scenarios.Observed, error) {
	flow.Steer(o.connectOf(began).Via)
	direction := network.FromClient
	if p.From == scenarios.SideServer {
		direction = network.FromServer
	}
	later, kept := flowPacketOf(p.Send), -1
	later.Pick = func(ways []network.Reached) int {
		kept = chooseLater(ways, p.Pick)
		return kept
	}
	journeys, err := flow.Send(direction, later)
	if err != nil {
		if p.Pick.IsValid() && kept < 0 {
			return nil, fmt.Errorf("flow of %s: no way leads to %s", p.Of, p.Pick)
		}
		return nil, err
	}
	seen := &scenarios.Observed{Kept: kept}
	for i := range journeys {
		way := o.journeyWay(&journeys[i])
		way.Heard = flow.Received(direction, &journeys[i])
		way.Answered = way.End == scenarios.Refused || answered(&journeys[i])
		if p.From == scenarios.SideServer && way.End == scenarios.Refused {
			way.End = scenarios.Delivered // a client's socket is none that listens
		}
		if !way.Heard {
			way.Why = "it does not have the addresses of the connection"
		}
		seen.Ways = append(seen.Ways, way)
	}
	return seen, nil
}

// chooseLater is the way of a later packet that is kept: the one to pick, otherwise that to the lowest endpoint, otherwise the first.
func chooseLater(all []network.Reached, pick netip.AddrPort) int {
	best := -1
	for i := range all {
		switch {
		case pick.IsValid() && all[i].Asked == pick:
			return i
		case pick.IsValid() || all[i].End != network.EndDelivered:
		case best < 0 || all[i].Asked.Compare(all[best].Asked) < 0:
			best = i
		}
	}
	if best < 0 && !pick.IsValid() {
		return 0
	}
	return best
}

// answered says whether an error that a host on the way made came back to the sender.
func answered(j *network.Journey) bool {
	return slices.ContainsFunc(j.Answers, func(answer network.Journey) bool {
		return answer.End == network.EndDelivered && answer.At == j.Hops[0].Host
	})
}

func flowPacketOf(kind scenarios.PacketKind) network.FlowPacket {
	switch kind {
	case scenarios.PacketFIN:
		return network.FlowPacket{Flags: inet.FIN | inet.ACK}
	case scenarios.PacketRST:
		return network.FlowPacket{Flags: inet.RST}
	case scenarios.PacketOutOfWindow:
		return network.FlowPacket{OutOfWindow: true}
	}
	return network.FlowPacket{}
}

// Send walks one packet through a node.
func (w *World) Send(_ context.Context, name string, in inet.Input) (*scenarios.Observed, error) {
	return w.observer().Send(name, in)
}

// Send walks one packet through a node. It comes by a device, or from a pod.
func (o Observer) Send(name string, in inet.Input) (*scenarios.Observed, error) {
	for port, pod := range o.Pods {
		if port.Host == name && pod == in.In {
			in.In = port.Device
		}
	}
	outcomes, err := o.Network.Host(name).Walk(in)
	if err != nil {
		return nil, err
	}
	seen := &scenarios.Observed{}
	for i := range outcomes {
		seen.Ways = append(seen.Ways, o.outcomeWay(name, in, &outcomes[i]))
	}
	return seen, nil
}

func (o Observer) outcomeWay(name string, in inet.Input, outcome *packetsim.Outcome) scenarios.Way {
	j := network.Journey{
		Probability: outcome.Probability, At: name, Packet: outcome.Packet, End: network.EndDropped,
		Hops: []network.Hop{{Host: name, Input: in, Outcome: *outcome}},
	}
	way := o.journeyWay(&j)
	if outcome.Verdict == packetsim.Accept {
		way.End, way.Out = scenarios.Delivered, o.outName(name, outcome)
		way.Decide(decisionOf(&j))
	}
	way.Heard = true
	return way
}

// outName is the device that a packet leaves by, or the pod behind it.
func (o Observer) outName(name string, outcome *packetsim.Outcome) string {
	if outcome.To == packetsim.ToLocal {
		return "local"
	}
	if pod, ok := o.Pods[network.Port{Host: name, Device: outcome.Out}]; ok {
		return pod
	}
	return outcome.Out
}
