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

// rangeOf calls of with the range of addresses and ports that registers hold.
func (x *nftRun) rangeOf(addrs, ports [2]expr.Register, flags expr.NATFlags,
	of func(x *nftRun, r *netfilter.NATRange) diagram.ID) diagram.ID {
	r := netfilter.NATRange{Random: flags&expr.NATProtoRandom != 0, RandomFully: flags&expr.NATProtoFullRandom != 0,
		Persistent: flags&expr.NATPersistent != 0}
	if flags&(expr.NATProtoOffset|expr.NATNetmap) != 0 {
		return x.b.unmodelled("NAT of whole networks or of shifted ports")
	}
	addr := func(to *netip.Addr) func([]byte) {
		return func(raw []byte) { *to, _ = netip.AddrFromSlice(raw) }
	}
	port := func(to *uint16) func([]byte) {
		return func(raw []byte) { *to = binary.BigEndian.Uint16(raw) }
	}
	var takes []take
	size := x.b.addrSize()
	if addrs[0] != 0 {
		takes = append(takes, take{addrs[0], size, addr(&r.MinAddr)})
	}
	if addrs[1] != 0 {
		takes = append(takes, take{addrs[1], size, addr(&r.MaxAddr)})
	}
	if ports[0] != 0 {
		r.HasPorts = true
		takes = append(takes, take{ports[0], 2, port(&r.MinPort)})
	}
	if ports[1] != 0 {
		takes = append(takes, take{ports[1], 2, port(&r.MaxPort)})
	}
	return x.take(takes, func(x *nftRun) diagram.ID {
		whole := r
		if addrs[1] == 0 {
			whole.MaxAddr = whole.MinAddr
		}
		if ports[1] == 0 {
			whole.MaxPort = whole.MinPort
		}
		return of(x, &whole)
	})
}

// take is a register and who gets its value.
type take struct {
	from expr.Register
	size int
	to   func([]byte)
}

// take takes the values of registers, one after the other, and goes on with each combination of them.
func (x *nftRun) take(takes []take, then func(x *nftRun) diagram.ID) diagram.ID {
	var values [][]byte
	var next func(x *nftRun, k int) diagram.ID
	next = func(x *nftRun, k int) diagram.ID {
		if k == len(takes) {
			for i := range takes {
				takes[i].to(values[i])
			}
			return then(x)
		}
		return x.valued(takes[k].from, takes[k].size, func(x *nftRun, value []byte) diagram.ID {
			values = append(values[:k], value)
			return next(x, k+1)
		})
	}
	return next(x, 0)
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
