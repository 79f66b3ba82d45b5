package forall

import (
	"encoding/binary"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// The bits of states (NF_CT_STATE_*_BIT), and of a connection's status (enum ip_conntrack_status).
var stateBits = [...]uint32{unseen: 1, established: 2, related: 4, fresh: 8, untracked: 64, templated: 8}

const (
	statusConfirmed = 1 << 3
	statusSrcNAT    = 1 << 4
	statusDstNAT    = 1 << 5
	statusSrcDone   = 1 << 7
	statusDstDone   = 1 << 8
)

// ct loads something of the connection.
func (x *nftRun) ct(e *expr.CT, i int) diagram.ID {
	word := func(n uint32) *load { return constant(binary.LittleEndian.AppendUint32(nil, n)) }
	b, st := x.b, &x.st
	switch {
	case e.Key == expr.CTState:
		return x.put(e.Dreg, word(stateBits[st.rel]), i)
	case st.rel == templated:
		return b.unmodelled(ofTemplate)
	case !st.rel.tracked() || e.Key == expr.CTHelper && b.knowsEntry(st):
		return x.breaks()
	case e.Key == expr.CTL3Protocol && b.six:
		return x.put(e.Dreg, constant([]byte{nfproto6}), i)
	case e.Key == expr.CTL3Protocol:
		return x.put(e.Dreg, constant([]byte{nfproto4}), i)
	case e.Key == expr.CTProtocol && st.rel != related:
		return x.put(e.Dreg, protocol, i)
	case e.Key == expr.CTDirection && st.rel != related:
		if st.reply {
			return x.put(e.Dreg, constant([]byte{1}), i)
		}
		return x.put(e.Dreg, constant([]byte{0}), i)
	case e.Key == expr.CTMark && b.knowsEntry(st):
		return x.put(e.Dreg, word(st.ctmark), i)
	case st.rel != fresh:
		return x.put(e.Dreg, opaque(e, 16), i)
	case e.Key == expr.CTStatus:
		return x.status(e, i)
	}
	return x.tuple(e, i)
}

// status loads the status of a new connection.
func (x *nftRun) status(e *expr.CT, i int) diagram.ID {
	b, bits := x.b, uint32(0)
	for _, is := range [...]struct {
		set bool
		bit uint32
	}{{x.st.origin == fromLo, statusConfirmed}, {x.st.bound[conntrack.Source], statusSrcDone},
		{x.st.bound[conntrack.Destination], statusDstDone}} {
		if is.set {
			bits |= is.bit
		}
	}
	value := func(n uint32) diagram.ID { return b.s.One(b.valueAtom(binary.LittleEndian.AppendUint32(nil, n))) }
	src, dst := b.changes(&x.st, conntrack.Source), b.changes(&x.st, conntrack.Destination)
	f := b.then(src,
		b.then(dst, value(bits|statusSrcNAT|statusDstNAT), value(bits|statusSrcNAT)),
		b.then(dst, value(bits|statusDstNAT), value(bits)))
	return x.given(f, e.Dreg, 4, i)
}

// tuple loads a part of the addresses of a new connection: as its first packet came, or as its answer is expected.
func (x *nftRun) tuple(e *expr.CT, i int) diagram.ID {
	b := x.b
	came := x.fork()
	came.st.src, came.st.port, came.st.anyPort = 0, asIs, false
	if came.st.orig != 0 {
		came.st.view = came.st.orig
	}
	answer := e.Dir != nil && *e.Dir == 1
	var l *load
	switch e.Key {
	case expr.CTSrcIP, expr.CTDstIP, expr.CTSrcIP6, expr.CTDstIP6, expr.CTSrc, expr.CTDst:
		of4, of6 := e.Key == expr.CTSrcIP || e.Key == expr.CTDstIP, e.Key == expr.CTSrcIP6 || e.Key == expr.CTDstIP6
		if of4 && b.six || of6 && !b.six {
			return x.breaks()
		}
		isSrc := e.Key == expr.CTSrc || e.Key == expr.CTSrcIP || e.Key == expr.CTSrcIP6
		switch {
		case isSrc && answer:
			l = x.destination(x.st.view)
		case isSrc:
			l = came.source()
		case answer:
			l = x.source()
		default:
			l = came.destination(came.st.view)
		}
	case expr.CTProtoSrc, expr.CTProtoDst:
		switch isSrc := e.Key == expr.CTProtoSrc; {
		case isSrc && answer:
			l = x.dstPort()
		case isSrc:
			l = came.srcPort()
		case answer:
			l = x.srcPort()
		default:
			l = came.dstPort()
		}
		q := b.newCond(&x.st)
		q.need(vProto, portedProtos, false)
		return b.then(q.id(), x.put(e.Dreg, l, i), b.unmodelled("the ports of a connection of a protocol without ports"))
	default:
		return x.put(e.Dreg, opaque(e, 16), i)
	}
	return x.put(e.Dreg, l, i)
}
