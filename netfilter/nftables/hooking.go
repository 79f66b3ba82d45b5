package nftables

import (
	"strconv"
	"syscall"
)

// chainType is a type of base chains.
type chainType uint8

const (
	filterChain chainType = iota
	natChain
	routeChain
)

// hookBits is the number of bits that each type of chains has in a context.
const hookBits = 8

// contexts are types of base chains and their hooks: from where packets may come to a rule. Bit type*hookBits+hook is one.
type contexts uint32

const allHooks contexts = 1<<hookBits - 1

// at are contexts of every type.
func at(hooks ...uint) contexts {
	var c contexts
	for _, h := range hooks {
		c |= 1 << h
	}
	return c | c<<hookBits | c<<(2*hookBits)
}

// of are those of them that are of a type.
func (c contexts) of(t chainType) contexts { return c & (allHooks << (uint(t) * hookBits)) }

// The hooks of ip, ip6, inet and bridge.
const (
	preRouting = iota
	localIn
	forward
	localOut
	postRouting
	ingress // of inet; of netdev it is 0
)

// chainTypes are the hooks that chains of each type may have in a family (nft_chain_filter.c, nft_chain_nat.c, nft_chain_route.c); no
// entry: the family does not know the type.
var chainTypes = map[Family]map[string]contexts{
	IPv4:   {"filter": at(0, 1, 2, 3, 4), "nat": at(0, 1, 3, 4), "route": at(3)},
	IPv6:   {"filter": at(0, 1, 2, 3, 4), "nat": at(0, 1, 3, 4), "route": at(3)},
	Inet:   {"filter": at(0, 1, 2, 3, 4, 5), "nat": at(0, 1, 3, 4), "route": at(3)},
	ARP:    {"filter": at(0, 1)},
	Bridge: {"filter": at(0, 1, 2, 3, 4)},
	Netdev: {"filter": at(0, 1)},
}

var chainTypeNames = map[string]chainType{"filter": filterChain, "nat": natChain, "route": routeChain}

// connectionTracking is the priority that chains of nat must come after (NF_IP_PRI_CONNTRACK).
const connectionTracking = -200

// check says whether a new base chain can hang so (nft_chain_parse_hook).
func (h *Hooking) check(f Family) *fault {
	hooks, known := chainTypes[f][h.Type]
	switch {
	case !known:
		return refuse(syscall.ENOENT, PartHook)
	case h.Hook >= hookBits || hooks&(1<<h.Hook) == 0:
		return refuse(syscall.EOPNOTSUPP, PartWhole)
	case h.Type == "nat" && h.Priority <= connectionTracking:
		return refuse(syscall.EOPNOTSUPP, PartWhole)
	case len(h.Devices) > 0 && !h.onDevices(f):
		return refuse(syscall.EOPNOTSUPP, PartWhole)
	}
	return nil
}

// onDevices says that the hook is one of devices.
func (h *Hooking) onDevices(f Family) bool { return f == Netdev || f == Inet && h.Hook == ingress }

// again says whether a base chain that hangs so can be added once more (nft_chain_parse_hook, nf_tables_updchain).
func (h *Hooking) again(f Family, other *Hooking) *fault {
	switch {
	case h.Hook != other.Hook || h.Priority != other.Priority:
		return refuse(syscall.EOPNOTSUPP, PartWhole)
	case chainTypes[f][other.Type] == 0:
		return refuse(syscall.ENOENT, PartHook)
	case h.Type != other.Type:
		return refuse(syscall.EEXIST, PartChain)
	}
	return nil
}

// context is the one that the base chain is.
func (h *Hooking) context() contexts {
	return 1 << (uint(chainTypeNames[h.Type])*hookBits + uint(h.Hook))
}

// anonymousChain is the name of a chain that has none.
func anonymousChain(n uint64) string { return "__chain" + strconv.FormatUint(n, 10) }
