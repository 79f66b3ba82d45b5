package trial

import (
	"context"
	"net/netip"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// judgeMartians gives nodes packets that no client's own routing would send them.
func (m *moment) judgeMartians(ctx context.Context) error {
	for _, a := range m.after.Martians() {
		in := m.r.martian(a)
		seen, err := m.r.world.Send(ctx, a.Via, in)
		if err != nil {
			return err
		}
		m.r.report.Figures.Packets++
		answer := m.after.Expect(a)
		m.r.exercised(answer.Clauses()...)
		for _, v := range m.after.Judge(a, waysOf(seen)) {
			dropped := []scenarios.Expect{{Drop: scenarios.Matched{Wanted: true}}, {Drop: scenarios.Matched{Wanted: true, Text: "martian"}}}
			f := Violation{Clause: v.Clause, Node: a.Via, attempt: a, Want: v.Want, Got: v.Got, Check: []scenarios.Step{{Send: &scenarios.Send{
				Node: a.Via, Packet: scenarios.PacketInput{Input: in}, Expect: scenarios.Expect{AnyOf: dropped},
			}}}}
			if err := m.r.add(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// martian is the first packet of an attempt as it comes to the node by the device to its client.
func (r *run) martian(a oracle.Attempt) inet.Input {
	in := inet.Input{In: plan.Underlay, Packet: inet.Packet{
		Proto: inet.TCP, Dst: a.To.Addr(), SrcPort: newPort, DstPort: a.To.Port(), TCPFlags: inet.SYN,
	}}
	var addresses []netip.Addr
	if pod := r.cluster.Pod(a.From); pod != nil {
		addresses = pod.Addresses
		if pod.Node == a.Via {
			in.In = pod.Name
		}
	}
	for i := range r.cluster.Outside {
		if r.cluster.Outside[i].Name == a.From {
			addresses = r.cluster.Outside[i].Addresses
		}
	}
	for _, own := range addresses {
		if own.Is6() == a.To.Addr().Is6() {
			in.Src = own
		}
	}
	return in
}

// waysOf are what became of one packet at a node.
func waysOf(seen *scenarios.Observed) []oracle.Way {
	var out []oracle.Way
	for i := range seen.Ways {
		w := &seen.Ways[i]
		out = append(out, oracle.Way{
			Probability: w.Probability, End: oracle.End(w.End), Host: w.Host, Sender: w.Sender, Client: w.Client, Server: w.Server, With: w.With,
		})
	}
	return out
}
