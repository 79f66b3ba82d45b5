package netns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/ctnetlink"
	"github.com/chainwalk/chainwalk/internal/nfnetlink"
	"github.com/chainwalk/chainwalk/kindtest/internal/raw"
	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// tupleText names the connection that a packet is of.
func tupleText(c *raw.Capture) string {
	return fmt.Sprintf("%d %s %s %d", c.Proto, c.Source(), c.Destination(), c.ICMPID)
}

// tuple is a packet's connection as ctnetlink spells it.
func tuple(c *raw.Capture) ctnetlink.Tuple {
	return ctnetlink.Tuple{
		Protocol: uint8(c.Proto), Src: c.Src, Dst: c.Dst, SrcPort: c.SrcPort, DstPort: c.DstPort,
		ICMPID: c.ICMPID, ICMPType: c.ICMPType, ICMPCode: c.ICMPCode,
	}
}

// deleteConnection removes the conntrack entry of a packet's connection, unless the
// connection is kept.
func (n *nodeHost) deleteConnection(c *raw.Capture) error {
	if c.IsICMPError() || n.memory.connections[tupleText(c)] {
		return nil
	}
	ct, err := n.conntrack()
	if err != nil {
		return err
	}
	err = change(ct, ctnetlink.MessageDelete, &ctnetlink.Entry{Original: tuple(c)})
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%s: delete the conntrack entry of %s: %w", n.Name, c.Header(), err)
	}
	return nil
}

// change asks to make, change or delete the entry with the original tuple.
func change(ct *nfnetlink.Socket, kind uint16, e *ctnetlink.Entry) error {
	ignore := func(nfnetlink.Message) error { return nil }
	return ct.Request(kind, unix.NLM_F_ACK, uint8(socket.Domain(e.Original.Src.Is6())), 0, ctnetlink.AppendEntry(nil, e), ignore)
}

// conntrack is a socket for the node's conntrack.
func (n *nodeHost) conntrack() (*nfnetlink.Socket, error) {
	if n.ct != nil {
		return n.ct, nil
	}
	var err error
	n.ct, err = n.ns.netfilter()
	return n.ct, err
}

// age makes the node's conntrack entries older: it shortens their timeouts, and
// removes those that end.
func (n *nodeHost) age(by time.Duration) error {
	ct, err := n.conntrack()
	if err != nil {
		return err
	}
	entries, err := n.tracked()
	if err != nil {
		return err
	}
	seconds := uint32(by / time.Second)
	for i := range entries {
		e := &ctnetlink.Entry{Original: entries[i].Original, Zone: entries[i].Zone, Timeout: entries[i].Timeout}
		e.Timeout++ // the kernel rounds down what is left since a moment ago
		kind := uint16(ctnetlink.MessageNew)
		if e.Timeout <= seconds {
			kind, e.Timeout = ctnetlink.MessageDelete, 0
		} else {
			e.Timeout -= seconds
		}
		if err = change(ct, kind, e); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("%s: make a conntrack entry %s older: %w", n.Name, by, err)
		}
	}
	return nil
}

// tracked lists the node's conntrack entries.
func (n *nodeHost) tracked() (entries []ctnetlink.Entry, err error) {
	ct, err := n.conntrack()
	if err != nil {
		return nil, err
	}
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		err := ct.Request(ctnetlink.MessageGet, unix.NLM_F_DUMP, family, 0, nil, func(m nfnetlink.Message) error {
			e, err := ctnetlink.Parse(m.Body)
			entries = append(entries, e)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: list conntrack: %w", n.Name, err)
		}
	}
	return entries, nil
}

// Conntrack are the connections that a node knows.
func (s *session) Conntrack(_ context.Context, name string) ([]scenarios.Tracked, error) {
	entries, err := s.nodes[name].tracked()
	if err != nil {
		return nil, err
	}
	var out []scenarios.Tracked
	for i := range entries {
		there, back := &entries[i].Original, &entries[i].Reply
		out = append(out, scenarios.Tracked{
			Proto: protoName(inet.Proto(there.Protocol)),
			Src:   netip.AddrPortFrom(there.Src, there.SrcPort), Dst: netip.AddrPortFrom(there.Dst, there.DstPort),
			To: netip.AddrPortFrom(back.Src, back.SrcPort), From: netip.AddrPortFrom(back.Dst, back.DstPort),
		})
	}
	return out, nil
}

// protoName is a protocol as scenarios call it: ICMP of both families is one.
func protoName(p inet.Proto) string {
	if p == inet.ICMPv6 {
		p = inet.ICMP
	}
	return p.String()
}
