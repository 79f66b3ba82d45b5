package nftables

import (
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// checkKeys says whether the kernel knows what an expression loads or writes, where it has a key or a number for that.
func (t *tableEdit) checkKeys(e expr.Expr) syscall.Errno {
	switch e := e.(type) {
	case *expr.Meta:
		return checkMetaUse(e)
	case *expr.CT:
		return t.checkCT(e)
	case *expr.Connlimit:
		if !t.tracks() {
			return syscall.EPROTO
		}
	case *expr.Numgen:
		switch {
		case e.Modulus == 0:
			return syscall.ERANGE
		case uint64(e.Offset)+uint64(e.Modulus)-1 > 1<<32-1:
			return syscall.EOVERFLOW
		}
	case *expr.Bitwise:
		if e.Op != expr.Bool && (e.Shift == 0 || e.Shift >= 32) {
			return syscall.EINVAL
		}
	case *expr.Quota:
		if e.Used() > e.Bytes {
			return syscall.EINVAL
		}
	case *expr.Socket:
		if t.Family != IPv4 && t.Family != IPv6 && t.Family != Inet {
			return syscall.EOPNOTSUPP
		}
	case *expr.Synproxy:
		if t.Family != IPv4 && t.Family != IPv6 && t.Family != Inet {
			return syscall.EPROTO
		}
	case *expr.Exthdr:
		if e.Writes && (e.Op != expr.ExthdrTCPOption || e.Len != 2 && e.Len != 4) {
			return syscall.EOPNOTSUPP // nft_exthdr_tcp_set_init
		}
	case *expr.Cmp:
		if len(e.Data) > maxConstant {
			return syscall.EOVERFLOW
		}
	}
	return 0
}

// maxConstant is the longest constant (struct nft_data).
const maxConstant = 16

// checkMetaUse says whether a key can be read, or written (nft_meta_get_init, nft_meta_set_init).
func checkMetaUse(e *expr.Meta) syscall.Errno {
	writable := false
	switch e.Key {
	case expr.MetaMark, expr.MetaPriority, expr.MetaPkttype, expr.MetaNftrace, expr.MetaSecmark, expr.MetaBroute:
		writable = true
	}
	if e.Writes && !writable || !e.Writes && (e.Key == expr.MetaNftrace || e.Key == expr.MetaBroute) {
		return syscall.EOPNOTSUPP
	}
	return 0
}

// tracks says whether connections of the table's family can be tracked (nf_ct_netns_get).
func (t *tableEdit) tracks() bool { return t.Family != ARP && t.Family != Netdev }

// checkCT is the same for what belongs to a connection (nft_ct_get_init, nft_ct_set_init).
func (t *tableEdit) checkCT(e *expr.CT) syscall.Errno {
	if e.Writes {
		switch e.Key {
		case expr.CTMark, expr.CTLabels, expr.CTZone, expr.CTEventmask, expr.CTSecmark:
		default:
			return syscall.EOPNOTSUPP
		}
	}
	if !t.tracks() {
		return syscall.EPROTO
	}
	return 0
}
