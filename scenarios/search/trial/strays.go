package trial

import (
	"context"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// judgeStrays gives nodes packets that belong to no connection they know.
func (m *moment) judgeStrays(ctx context.Context) error {
	for _, p := range m.after.Strays() {
		in := inet.Input{In: plan.Underlay, Packet: inet.Packet{
			Proto: inet.TCP, Src: p.Source.Addr(), SrcPort: p.Source.Port(), Dst: p.Received.Addr(), DstPort: p.Received.Port(),
			TCPFlags: inet.SYN | inet.ACK,
		}}
		seen, err := m.r.world.Send(ctx, p.Node, in)
		if err != nil {
			return err
		}
		m.r.report.Figures.Packets++
		answer := m.after.ExpectStray(p)
		m.r.exercised(answer.Clauses()...)
		for _, v := range m.after.JudgeStray(p, waysOf(seen)) {
			expect := scenarios.Expect{Untouched: true, Out: p.To}
			if answer.Fate == oracle.Drop {
				expect = scenarios.Expect{Drop: scenarios.Matched{Wanted: true}}
			}
			f := Violation{Clause: v.Clause, Node: p.Node, Want: v.Want, Got: v.Got, Check: []scenarios.Step{{Send: &scenarios.Send{
				Node: p.Node, Packet: scenarios.PacketInput{Input: in}, Expect: expect,
			}}}}
			if err := m.r.add(f); err != nil {
				return err
			}
		}
	}
	return nil
}
