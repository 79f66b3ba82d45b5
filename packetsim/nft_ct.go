package packetsim

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// loadCT is ct (nft_ct_get_eval in net/netfilter/nft_ct.c).
func (t *nftMachine) loadCT(x *expr.CT) {
	c, at := t.s.conn, uint8(x.Dreg.Offset())
	if x.Key == expr.CTState {
		t.regs.put4(at, nftState(t.s))
		return
	}
	if c == nil || c.Template != nil { // of a template nothing but the state can be asked (6.18)
		t.code = expr.Break
		return
	}
	switch x.Key {
	case expr.CTDirection:
		t.regs.put4(at, uint32(t.s.dir))
	case expr.CTStatus:
		t.regs.put4(at, nftStatus(c))
	case expr.CTMark:
		t.regs.put4(at, c.Mark)
	case expr.CTExpiration:
		var left time.Duration
		if d := c.Expires.Sub(t.targets.memory.clock.Now()); c.Confirmed && d > 0 {
			left = d
		}
		t.regs.put4(at, uint32(left/time.Millisecond))
	case expr.CTHelper:
		t.code = expr.Break // the helper is that of the connection that this one was expected by, and none is
	case expr.CTL3Protocol:
		family := uint32(ipv4Family)
		if c.Tuples[conntrack.Original].Dst.Is6() {
			family = ipv6Family
		}
		t.regs.put4(at, family)
	case expr.CTProtocol:
		t.regs.put4(at, uint32(c.Tuples[conntrack.Original].Proto))
	case expr.CTLabels:
		t.loadLabels(at, c)
	case expr.CTBytes, expr.CTPkts, expr.CTAvgpkt:
		t.loadCounters(x, c)
	default:
		t.loadTuple(x, c)
	}
}

// loadTuple loads a part of the connection's addresses of a direction.
func (t *nftMachine) loadTuple(x *expr.CT, c *conntrack.Conn) {
	var dir uint8
	if x.Dir != nil {
		dir = *x.Dir
	}
	tuple, at := &c.Tuples[dir&1], x.Dreg.Offset()
	switch x.Key {
	case expr.CTSrc, expr.CTSrcIP, expr.CTSrcIP6:
		t.loadAddr(x.Key, at, tuple.Src)
	case expr.CTDst, expr.CTDstIP, expr.CTDstIP6:
		t.loadAddr(x.Key, at, tuple.Dst)
	case expr.CTProtoSrc:
		port := tuple.SrcPort
		if tuple.Proto.IsICMP() {
			port = tuple.ICMPID
		}
		t.regs.put4(uint8(at), bigPort(port))
	case expr.CTProtoDst:
		port := tuple.DstPort
		if tuple.Proto.IsICMP() {
			port = uint16(tuple.ICMPType)<<8 | uint16(tuple.ICMPCode)
		}
		t.regs.put4(uint8(at), bigPort(port))
	default:
		t.notWalked(x, ctName(x.Key))
	}
}

// ctNames are the keys that are not walked.
var ctNames = map[expr.CTKey]string{expr.CTZone: "zone", expr.CTID: "id", expr.CTSecmark: "secmark", expr.CTEventmask: "event",
	expr.CTHelper: "helper"}

func ctName(k expr.CTKey) string {
	if name := ctNames[k]; name != "" {
		return "ct " + name
	}
	return "an unknown key"
}

// loadAddr loads an address; the keys of one family find none of the other.
func (t *nftMachine) loadAddr(key expr.CTKey, at int, addr netip.Addr) {
	switch key {
	case expr.CTSrcIP, expr.CTDstIP:
		if !addr.Is4() {
			t.code = expr.Break
			return
		}
	case expr.CTSrcIP6, expr.CTDstIP6:
		if !addr.Is6() {
			t.code = expr.Break
			return
		}
	}
	t.regs.put(at, addr.AsSlice())
}

func (t *nftMachine) loadLabels(at uint8, c *conntrack.Conn) {
	var labels conntrack.Labels
	switch {
	case c.Labels != nil:
		labels = *c.Labels
	case c.Given:
		t.fail(errNoLabels)
	}
	t.regs.put8(at, labels[0])
	t.regs.put8(at+8, labels[1])
}

// loadCounters loads what the connection has counted, of one direction or of both; 0 if it counts nothing.
func (t *nftMachine) loadCounters(x *expr.CT, c *conntrack.Conn) {
	if c.Counters == nil && c.Given {
		t.fail(errNoAccounting)
		return
	}
	var packets, bytes uint64
	for dir := range 2 {
		if c.Counters != nil && (x.Dir == nil || int(*x.Dir) == dir) {
			packets, bytes = packets+c.Counters[dir].Packets, bytes+c.Counters[dir].Bytes
		}
	}
	at := uint8(x.Dreg.Offset())
	switch {
	case x.Key == expr.CTPkts:
		t.regs.put8(at, packets)
	case x.Key == expr.CTBytes:
		t.regs.put8(at, bytes)
	case packets == 0:
		t.regs.put8(at, 0)
	default:
		t.regs.put8(at, bytes/packets)
	}
}

// setCT writes something of the connection (nft_ct_set_eval in net/netfilter/nft_ct.c); of a packet without one, nothing.
func (t *nftMachine) setCT(x *expr.CT) {
	c, at := t.s.conn, x.Sreg.Offset()
	switch x.Key {
	case expr.CTMark:
		if !t.regs.knows(at, 4) {
			t.fail(errRegisterUnknown)
			return
		}
		mark := t.regs.get4(uint8(at))
		if c == nil || c.Template != nil || c.Mark == mark {
			return
		}
		t.targets.conns.Change(c)
		c.Mark = mark
		if t.tellsEvents() {
			t.tell(Event{Kind: EventConnmark, Entry: t.targets.conns.EntryOf(c)})
		}
	case expr.CTLabels:
		if c == nil || c.Template != nil {
			return
		}
		var labels conntrack.Labels
		if c.Labels != nil {
			labels = *c.Labels
		}
		for i := range labels {
			labels[i] |= binary.LittleEndian.Uint64(t.regs.bytes(at+8*i, 8))
		}
		t.targets.conns.Change(c)
		c.Labels = &labels
	case expr.CTEventmask:
	default:
		t.notWalked(x, ctName(x.Key)+" set")
	}
}
