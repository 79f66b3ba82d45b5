package forall

import (
	"encoding/binary"
	"net/netip"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// reject drops the packet and answers, as the walk calls the answer.
func (x *nftRun) reject(e *expr.Reject) diagram.ID {
	b := x.b
	with := packetsim.RejectWord(e, b.six)
	if with == "" {
		return b.unmodelled("a reject with an unknown code")
	}
	if e.Kind != expr.RejectTCPReset {
		return b.rejected(with)
	}
	others := b.dropped()
	if x.st.hook == netfilter.PreRouting {
		others = b.unmodelled("a reset of what is no TCP, before it has a route")
	}
	q := b.newCond(&x.st)
	q.protos(false, inet.TCP)
	return b.then(q.id(), b.rejected(with), others)
}

// rangeOf calls of with the range of addresses and ports that registers hold, for each combination of values that they may have.
func (x *nftRun) rangeOf(addrs, ports [2]expr.Register, flags expr.NATFlags,
	of func(x *nftRun, r *netfilter.NATRange) diagram.ID) diagram.ID {
	if flags&(expr.NATProtoOffset|expr.NATNetmap) != 0 {
		return x.b.unmodelled("NAT of whole networks or of shifted ports")
	}
	var values [4][]byte
	for i, from := range [...]expr.Register{addrs[0], addrs[1], ports[0], ports[1]} {
		size := 2
		if i < len(addrs) {
			size = x.b.addrSize()
		}
		if from == 0 {
			continue
		}
		value, is := x.known(from, size)
		if !is {
			return x.valued(from, size, func(x *nftRun, _ []byte) diagram.ID { return x.rangeOf(addrs, ports, flags, of) })
		}
		values[i] = value
	}
	r := netfilter.NATRange{Random: flags&expr.NATProtoRandom != 0, RandomFully: flags&expr.NATProtoFullRandom != 0,
		Persistent: flags&expr.NATPersistent != 0, HasPorts: ports[0] != 0}
	r.MinAddr, _ = netip.AddrFromSlice(values[0])
	r.MinPort = portIn(values[2])
	if r.MaxAddr = r.MinAddr; addrs[1] != 0 {
		r.MaxAddr, _ = netip.AddrFromSlice(values[1])
	}
	if r.MaxPort = r.MinPort; ports[1] != 0 {
		r.MaxPort = portIn(values[3])
	}
	return of(x, &r)
}

// portIn is a port in the network's order; of none 0.
func portIn(raw []byte) uint16 {
	if raw == nil {
		return 0
	}
	return binary.BigEndian.Uint16(raw)
}

// nat translates the source or the destination.
func (x *nftRun) nat(e *expr.NAT) diagram.ID {
	if (e.Family == nfproto6) != x.b.six {
		return x.b.unmodelled("NAT of the other family")
	}
	return x.rangeOf([2]expr.Register{e.AddrMin, e.AddrMax}, [2]expr.Register{e.ProtoMin, e.ProtoMax}, e.Flags,
		func(x *nftRun, r *netfilter.NATRange) diagram.ID {
			if e.Source {
				return x.b.snat(r, x.st)
			}
			return x.b.dnat(r, x.st, x.ported)
		})
}

func (x *nftRun) masquerade(e *expr.Masq) diagram.ID {
	return x.rangeOf([2]expr.Register{}, [2]expr.Register{e.ProtoMin, e.ProtoMax}, e.Flags,
		func(x *nftRun, r *netfilter.NATRange) diagram.ID { return x.b.masquerade(r, x.st) })
}

func (x *nftRun) redirect(e *expr.Redir) diagram.ID {
	return x.rangeOf([2]expr.Register{}, [2]expr.Register{e.ProtoMin, e.ProtoMax}, e.Flags,
		func(x *nftRun, r *netfilter.NATRange) diagram.ID { return x.b.redirect(r, x.st, x.ported) })
}
