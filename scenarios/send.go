package scenarios

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Send is one packet given to a node.
type Send struct {
	document.Located
	Name   string      `json:"name" doc:"What the packet is for."`
	Node   string      `json:"node" required:"true" doc:"The node."`
	Packet PacketInput `json:"packet" required:"true" doc:"The packet: PROTO SRC[:PORT] > DST[:PORT] in DEV|local [flags SYN,ACK] [type T/C] [mark N] [ttl N] [len N]. DEV is eth0, lo, or the name of a pod on the node for the device of that pod."`
	Expect Expect      `json:"expect" required:"true" doc:"What must come of it."`
}

// PacketInput is a packet in the PACKET syntax.
type PacketInput struct{ inet.Input }

// UnmarshalText reads the PACKET syntax.
func (p *PacketInput) UnmarshalText(text []byte) error {
	in, err := inet.ParseInput(string(text))
	if err == nil && in.In == "" && !in.Local {
		err = errors.New("say where it comes from: \"in DEV\" or \"local\"")
	}
	p.Input = in
	return err
}

// MarshalText is the packet as it is read.
func (p PacketInput) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

func (c *checker) send(step *Step) {
	s := step.Send
	c.nodes(s.Pos, []string{s.Node})
	c.expect(&s.Expect, ofSinglePacket)
	in := s.Packet.In
	if pod := c.cluster.Pod(in); pod != nil && pod.Node != s.Node {
		c.errorf(s.Pos, "packet: the pod %s is on %s, not on %s", in, pod.Node, s.Node)
	} else if pod == nil && in != "" && in != "eth0" && in != "lo" {
		c.errorf(s.Pos, "packet: %s has no device %q (want eth0, lo or a pod's name)", s.Node, in)
	}
}

// ofSingle is an expectation of a packet that is looked at on its node only.
func (e *Expect) ofSingle() *Expect {
	out := *e
	out.OneWay, out.AnyOf = true, slices.Clone(e.AnyOf)
	for i := range out.AnyOf {
		out.AnyOf[i].OneWay = true
	}
	if e.NFTables != nil {
		out.NFTables = e.NFTables.ofSingle()
	}
	return &out
}

func (r *runner) send(ctx context.Context, s *Step) error {
	in := s.Send.Packet.Input
	seen, err := r.session.Send(ctx, s.Send.Node, in)
	if err != nil {
		return err
	}
	packet := in.String() + " at " + s.Send.Node
	expect := s.Send.Expect.ofSingle()
	called := netip.AddrPortFrom(in.Dst, in.DstPort)
	j := judge{expect: expect, called: called, seen: seen, first: true}
	if in.Proto == inet.TCP && in.TCPFlags != inet.SYN { // of no connection that is known
		j.documented = func() *Documented { return r.documentedInvalid(expect, seen.Ways) }
	}
	r.judge(expect.Pos, cmp.Or(s.Send.Name, s.Name, packet), packet, j)
	return nil
}
