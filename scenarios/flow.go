package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/internal/document"
)

// FlowPacket is a later packet of a kept connection.
type FlowPacket struct {
	document.Located
	Of   string     `json:"of" required:"true" doc:"The name that the connection was kept under."`
	From Side       `json:"from" enum:"client server" doc:"Who sends it: client (if not given) or server."`
	Send PacketKind `json:"send" enum:"data fin rst outOfWindow" doc:"data (if not given), fin, rst, or outOfWindow: a TCP segment outside of the window that conntrack tracks."`
	// Pick is for datagrams that begin anew, and so have several ways.
	Pick   netip.AddrPort `json:"pick" doc:"The endpoint of the way that is kept, where the packet is one that chance decides about again."`
	Expect Expect         `json:"expect" required:"true" doc:"What must come of it."`
}

// Side is an end of a connection.
type Side string

// The sides.
const (
	SideClient Side = "client"
	SideServer Side = "server"
)

// PacketKind is a kind of packet of a connection that is made.
type PacketKind string

// The kinds of packets.
const (
	PacketData        PacketKind = "data"
	PacketFIN         PacketKind = "fin"
	PacketRST         PacketKind = "rst"
	PacketOutOfWindow PacketKind = "outOfWindow"
)

func (c *checker) flow(s *Step) {
	f := s.Flow
	c.keptBefore(f.Pos, "of", f.Of)
	if f.From == SideServer {
		c.expect(&f.Expect, ofServerPacket)
	} else {
		c.expect(&f.Expect, ofClientPacket)
	}
	if f.Pick.IsValid() && f.From == SideServer {
		c.errorf(f.Pos, "pick says nothing about a packet from the server")
	}
	if f.Expect.Source.Masqueraded || f.Expect.NFTables != nil && f.Expect.NFTables.Source.Masqueraded {
		c.errorf(f.Expect.Pos, "source: a later packet of a connection meets no MASQUERADE rule (want kept or the address that the server sees)")
	}
}

// ofLater is an expectation without what connections wait for: later packets have no answer.
func (e *Expect) ofLater() *Expect {
	out := *e
	out.AnyOf = slices.Clone(e.AnyOf)
	for i := range out.AnyOf {
		out.AnyOf[i] = *out.AnyOf[i].ofLater()
	}
	if e.NFTables != nil {
		out.NFTables = e.NFTables.ofLater()
	}
	out.OneWay = e.OneWay || len(e.AnyOf) == 0 && e.kind().of[ofConnection] > 0
	return &out
}

func (r *runner) follow(ctx context.Context, s *Step) error {
	p := *s.Flow
	if p.From == "" {
		p.From = SideClient
	}
	if p.Send == "" {
		p.Send = PacketData
	}
	if r.unmade[p.Of] {
		r.add(p.Expect.Pos, Check{Name: cmp.Or(s.Name, fmt.Sprintf("%s of %s", p.Send, p.Of)), Passed: true, OfMode: []string{"flow"},
			Skipped: fmt.Sprintf("connection %s is not made in mode %s", p.Of, r.play.mode)})
		return nil
	}
	seen, err := r.session.Follow(ctx, p)
	if err != nil {
		return err
	}
	packet := fmt.Sprintf("%s from the %s of %s", p.Send, p.From, p.Of)
	r.judge(p.Expect.Pos, cmp.Or(s.Name, packet), packet, judge{
		expect: p.Expect.ofLater(), called: r.kept[p.Of].called, kept: r.kept, seen: seen,
		documented: func() *Documented {
			if p.Send == PacketOutOfWindow {
				return r.documentedInvalid(&p.Expect, seen.Ways)
			}
			return r.documentedLater(r.kept[p.Of].attempt, seen.Ways)
		},
	})
	if kept := seen.Kept; p.From == SideClient && kept >= 0 && kept < len(seen.Ways) && seen.Ways[kept].End == Delivered {
		r.kept[p.Of] = keptConnection{called: r.kept[p.Of].called, endpoint: seen.Ways[kept].Server, attempt: r.kept[p.Of].attempt}
	}
	return nil
}
