package nftables

import "github.com/chainwalk/chainwalk/netfilter/nftables/expr"

// everywhere are all contexts.
const everywhere = ^contexts(0)

// The families of an expression: those of IP, and the devices'.
func (f Family) isIP() bool { return f == IPv4 || f == IPv6 || f == Inet }

// contextsOf are the contexts in which an expression may stand (the validate functions of nft_*.c).
func contextsOf(e expr.Expr, f Family) contexts {
	switch e := e.(type) {
	case *expr.NAT:
		if !f.isIP() {
			return 0
		}
		if e.Source {
			return at(postRouting, localIn).of(natChain)
		}
		return at(preRouting, localOut).of(natChain)
	case *expr.Masq:
		return ofIP(f, at(postRouting).of(natChain))
	case *expr.Redir:
		return ofIP(f, at(preRouting, localOut).of(natChain))
	case *expr.Reject:
		return contextsOfReject(f)
	case *expr.Fib:
		return ofIP(f, contextsOfFib(e))
	case *expr.Meta:
		return contextsOfMeta(e, f)
	case *expr.RT:
		const tcpmss = 3
		if e.Key == tcpmss {
			return ofIP(f, at(forward, localOut, postRouting))
		}
		if !f.isIP() {
			return 0
		}
	case *expr.Socket:
		return ofIP(f, at(preRouting, localIn, localOut))
	case *expr.Osf:
		return ofIP(f, at(preRouting, localIn, forward))
	case *expr.XFRM:
		if e.Dir == 0 {
			return ofIP(f, at(forward, localIn, preRouting))
		}
		return ofIP(f, at(forward, localOut, postRouting))
	case *expr.Tproxy:
		return ofIP(f, at(preRouting))
	case *expr.Synproxy:
		return ofIP(f, at(localIn, forward))
	case *expr.FlowOffload:
		return ofIP(f, at(forward))
	case *expr.Fwd:
		if f != Netdev {
			return 0
		}
	}
	return everywhere
}

func ofIP(f Family, c contexts) contexts {
	if !f.isIP() {
		return 0
	}
	return c
}

// contextsOfReject is nft_reject_validate and those of its families.
func contextsOfReject(f Family) contexts {
	switch f {
	case Inet:
		return at(localIn, forward, localOut, preRouting, ingress)
	case Bridge:
		return at(preRouting, localIn)
	case Netdev:
		return at(0)
	}
	return ofIP(f, at(localIn, forward, localOut, preRouting))
}

// contextsOfFib is nft_fib_validate.
func contextsOfFib(e *expr.Fib) contexts {
	switch {
	case e.Result != expr.FibType || e.Flags&expr.FibIif != 0:
		return at(preRouting, localIn, forward)
	case e.Flags&expr.FibOifFlag != 0:
		return at(localOut, postRouting, forward)
	}
	return at(preRouting, localIn, forward, localOut, postRouting)
}

// contextsOfMeta is nft_meta_get_validate and nft_meta_set_validate.
func contextsOfMeta(e *expr.Meta, f Family) contexts {
	switch {
	case e.Writes && e.Key == expr.MetaPkttype:
		if f == Netdev {
			return at(0)
		}
		return at(preRouting)
	case e.Writes:
	case e.Key == expr.MetaSecpath && f != Netdev:
		return at(preRouting, localIn, forward)
	case (e.Key == expr.MetaSdif || e.Key == expr.MetaSdifname) && f.isIP():
		return at(localIn, forward)
	}
	return everywhere
}
