package certificate

import (
	"encoding/binary"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// part is a field in a header.
type part struct {
	at, size int
	field    field
	came     bool
}

// octetOf is a byte of a field as the packet has it now, or had it when it came.
func (q *nftReading) octetOf(p part, i int) octet {
	if q.moved[p.field] && !p.came {
		return octet{kind: known, value: q.at[p.field].bytes(p.size)[i]}
	}
	return octet{kind: ofField, field: p.field, at: uint8(i), mask: 0xff, came: p.came}
}

// load puts bytes of a header that has these fields into registers.
func (q *nftReading) load(to expr.Register, offset, n int, parts ...part) {
	q.put(to, n, func(i int) octet {
		for _, p := range parts {
			if k := offset + i - p.at; k >= 0 && k < p.size {
				return q.octetOf(p, k)
			}
		}
		return octet{}
	})
}

func (q *nftReading) payload(e *expr.Payload) {
	var in []part
	switch {
	case e.Base == expr.NetworkHeader && q.six:
		in = []part{{at: 6, size: 1, field: proto}, {at: 8, size: 16, field: src}, {at: 24, size: 16, field: dst}}
	case e.Base == expr.NetworkHeader:
		in = []part{{at: 9, size: 1, field: proto}, {at: 12, size: 4, field: src}, {at: 16, size: 4, field: dst}}
	case e.Base == expr.TransportHeader:
		if q.oneProto() == cuts {
			break
		}
		switch q.cell.spans[proto].first.low {
		case 6, 17, 132:
			in = []part{{at: 0, size: 2, field: srcPort}, {at: 2, size: 2, field: dstPort}}
		}
	}
	q.known(e)
	q.load(e.Dreg, int(e.Offset), int(e.Len), in...)
}

// known notes bytes of a header that are not the same for all packets of the class: of first packets all are.
func (q *nftReading) known(e *expr.Payload) {
	reads := func(first, last uint32) bool { return e.Offset <= last && first < e.Offset+e.Len }
	kind := q.cell.spans[proto].first.low
	switch {
	case q.class.whole:
	case e.Base == expr.NetworkHeader && (q.six && reads(4, 5) || !q.six && (reads(2, 5) || reads(10, 11))):
		q.says("the length of packets is")
	case e.Base != expr.TransportHeader:
	case kind == 6 && (reads(4, 12) || reads(14, 59)):
		q.says("the header of TCP packets is")
	case kind == 6 && reads(13, 13) && !q.class.hasFlags:
		q.says("the flags of TCP packets are")
	case (kind == 1 || kind == 58) && (reads(2, 1500) || !q.class.pings):
		q.says("the type of ICMP packets is")
	case kind != 6 && reads(4, 1500):
		q.says("the header of packets is")
	}
}

func (q *nftReading) writes(e *expr.Payload) {
	upTo := uint32(12)
	if q.six {
		upTo = 8
	}
	if e.Base != expr.NetworkHeader || e.Offset+e.Len > upTo {
		q.cannot("it writes to addresses or ports")
	}
}

func (q *nftReading) meta(e *expr.Meta) {
	size := 4
	switch e.Key {
	case expr.MetaL4proto:
		q.load(e.Dreg, 0, 1, part{size: 1, field: proto})
		return
	case expr.MetaIifname, expr.MetaIifkind, expr.MetaIif, expr.MetaIiftype, expr.MetaIifgroup:
		_ = q.oneDevice()
		size = 16
	case expr.MetaOifname, expr.MetaOifkind:
		size = 16
	case expr.MetaNfproto:
		number := byte(2) // NFPROTO_IPV4
		if q.six {
			number = 10 // NFPROTO_IPV6
		}
		q.put(e.Dreg, 1, func(int) octet { return octet{kind: known, value: number} })
		return
	case expr.MetaLen:
		if !q.class.whole {
			q.says("the length of packets is")
		}
	case expr.MetaPkttype, expr.MetaRtclassid:
		q.cannot("it asks of how a packet came, or of its route")
	}
	q.put(e.Dreg, size, func(int) octet { return octet{} })
}

// ct loads what conntrack knows: of a connection the packet as it came, or that the other way.
func (q *nftReading) ct(e *expr.CT) {
	bits, is := q.states()
	switch {
	case is && e.Key == expr.CTState:
		q.constant(e.Dreg, binary.LittleEndian.AppendUint32(nil, bits.nft))
		return
	case e.Key == expr.CTDirection && q.class.isOfOld() && q.class.way != anyWay:
		q.constant(e.Dreg, []byte{byte(q.class.way)}) // of a packet without a connection, the rule does not hold
		return
	case q.mayHaveConn() && !q.isKnown(e.Key):
		q.says(expr.Text(e) + " is")
		q.put(e.Dreg, 16, func(int) octet { return octet{} })
		return
	}
	size, answer := addrSize(q.six), e.Dir != nil && *e.Dir == 1
	p := part{came: !answer}
	switch e.Key {
	case expr.CTSrc, expr.CTSrcIP, expr.CTSrcIP6:
		p.field, p.size = src, size
	case expr.CTDst, expr.CTDstIP, expr.CTDstIP6:
		p.field, p.size = dst, size
	case expr.CTProtoSrc, expr.CTProtoDst:
		_ = q.oneProto()
		if p.field, p.size = srcPort, 2; e.Key == expr.CTProtoDst {
			p.field = dstPort
		}
	case expr.CTProtocol:
		p.field, p.size = proto, 1
	default:
		q.put(e.Dreg, 16, func(int) octet { return octet{} })
		return
	}
	switch {
	case e.Key == expr.CTProtocol:
	case answer && q.class.name == New:
		q.cannot("is expected in answer")
	case q.class.isOfOld():
		p.came = true // NAT does not translate it
		if answer != (q.class.way == backward) {
			p.field = p.field.across()
		}
	}
	q.load(e.Dreg, 0, p.size, p)
}

// constant puts known bytes into registers.
func (q *nftReading) constant(to expr.Register, data []byte) {
	q.put(to, len(data), func(i int) octet { return octet{kind: known, value: data[i]} })
}

// isKnown says whether the class says what a key of a connection is that was there before the packet.
func (q *nftReading) isKnown(key expr.CTKey) bool {
	switch key {
	case expr.CTState, expr.CTL3Protocol:
		return true
	case expr.CTDirection, expr.CTProtocol, expr.CTSrc, expr.CTSrcIP, expr.CTSrcIP6, expr.CTDst, expr.CTDstIP, expr.CTDstIP6, expr.CTProtoSrc,
		expr.CTProtoDst:
		return q.class.way != anyWay
	}
	return false
}
