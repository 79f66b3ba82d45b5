package snapshot

import (
	"slices"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/nlattr"
	"github.com/chainwalk/chainwalk/netfilter"
)

// The message of nfnetlink_hook and its attributes (include/uapi/linux/netfilter/nfnetlink_hook.h).
const (
	hookGet          = 12 << 8 // message 0 of the subsystem
	hookNumber       = 1
	hookPriority     = 2
	hookFunction     = 4
	hookChainInfo    = 6
	hookInfoDesc     = 1
	hookInfoType     = 2
	hookTypeNFTables = 1
	hookChainTable   = 1
	hookChainFamily  = 2
	hookChainName    = 3
)

// order asks the kernel which of both backends' chains go first, where both have one table, and in which order native chains come.
func (t *taker) order() {
	native := slices.ContainsFunc(t.snapshot.NFTables, func(n NFTable) bool { return n.Rules != "" })
	for _, family := range netfilter.Families() {
		if !t.snapshot.sharesTable(family) && !native {
			continue
		}
		for number, hook := range netfilter.HookNames() {
			messages, err := dumpNetfilter(hookGet, nfprotoOf(family), nl.NewRtAttr(hookNumber, nlattrUint32(uint32(number))))
			if err != nil {
				t.unread(orderUnread, "the kernel does not list its hooks (nfnetlink_hook): %v", err)
				return
			}
			if t.snapshot.sharesTable(family) {
				t.snapshot.Order = append(t.snapshot.Order, orderOf(family, hook, messages)...)
			}
			t.snapshot.Hooks = append(t.snapshot.Hooks, hookChainsOf(family, hook, messages)...)
		}
	}
}

func nfprotoOf(family netfilter.Family) int {
	if family == netfilter.IPv6 {
		return unix.NFPROTO_IPV6
	}
	return unix.NFPROTO_IPV4
}

// nlattrUint32 is a number as the value of an attribute.
func nlattrUint32(v uint32) []byte {
	return []byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}
}

// orderOf reads the functions of a hook, which come in the order in which packets meet them. A table of which only one backend's chain is
// listed is left out; kernels before 6.16 do not list those of nat.
func orderOf(family netfilter.Family, hook string, messages [][]byte) []HookOrder {
	first := map[string]netfilter.Dialect{}
	var order []HookOrder
	for _, message := range messages {
		table, dialect := hookedTable(message, hook)
		switch before := first[table]; {
		case table == "":
		case before == "":
			first[table] = dialect
		case before != dialect && !slices.ContainsFunc(order, func(o HookOrder) bool { return o.Table == table }):
			order = append(order, HookOrder{Family: family, Hook: hook, Table: table, First: before})
		}
	}
	return order
}

// hookChainsOf are the chains of one priority of a hook, where several have it and one of them is native.
func hookChainsOf(family netfilter.Family, hook string, messages [][]byte) []HookChains {
	var out []HookChains
	for len(messages) > 0 {
		list, native, priority := HookChains{Family: family, Hook: hook}, false, hookPriorityOf(messages[0])
		for len(messages) > 0 && hookPriorityOf(messages[0]) == priority {
			name, own := hookedName(messages[0], hook)
			if name != "" {
				list.Chains, native = append(list.Chains, name), native || own
			}
			messages = messages[1:]
		}
		if native && len(list.Chains) > 1 {
			out = append(out, list)
		}
	}
	return out
}

// hookPriorityOf is the priority of a function of a hook; 0 if it says none.
func hookPriorityOf(message []byte) int32 {
	attrs, err := attributesByType(message[min(nfgenmsgHeader, len(message)):])
	if err != nil {
		return 0
	}
	priority, _ := attrs[hookPriority].Uint32()
	return int32(priority)
}

// hookedName is the name of a function of a hook in HookChains, and whether it is a native chain; empty if it is no chain.
func hookedName(message []byte, hook string) (name string, native bool) {
	if table, dialect := hookedTable(message, hook); table != "" {
		return "iptables-" + string(dialect) + " " + table, false
	}
	attrs, err := attributesByType(message[min(nfgenmsgHeader, len(message)):])
	if err != nil {
		return "", false
	}
	info, err := attributesByType(attrs[hookChainInfo].Value)
	if err != nil {
		return "", false
	}
	chain, err := attributesByType(info[hookInfoDesc].Value)
	if err != nil || len(chain[hookChainFamily].Value) == 0 || chain[hookChainName].Text() == "" {
		return "", false
	}
	return nftFamily(chain[hookChainFamily].Value[0]) + " " + chain[hookChainTable].Text() + " " + chain[hookChainName].Text(), true
}

// hookedTable is the table and the backend that a function of a hook belongs to; empty if it is another one's.
func hookedTable(message []byte, hook string) (table string, dialect netfilter.Dialect) {
	if len(message) < nfgenmsgHeader {
		return "", ""
	}
	attrs, err := attributesByType(message[nfgenmsgHeader:])
	if err != nil {
		return "", ""
	}
	if info, is := attrs[hookChainInfo]; is {
		return hookedChain(info, hook)
	}
	function := attrs[hookFunction].Text()
	for _, prefix := range []string{"ipt_do_table", "ip6t_do_table", "iptable_", "ip6table_"} {
		if strings.HasPrefix(function, prefix) {
			priority, err := attrs[hookPriority].Uint32()
			if err != nil {
				return "", ""
			}
			return legacyTables[int32(priority)], "legacy"
		}
	}
	return "", ""
}

// hookedChain is the table of a base chain of nf_tables, if it is a built-in chain of iptables.
func hookedChain(info nlattr.Attribute, hook string) (table string, dialect netfilter.Dialect) {
	attrs, err := attributesByType(info.Value)
	if err != nil {
		return "", ""
	}
	kind, err := attrs[hookInfoType].Uint32()
	if err != nil || kind != hookTypeNFTables {
		return "", ""
	}
	chain, err := attributesByType(attrs[hookInfoDesc].Value)
	if err != nil || chain[hookChainName].Text() != hook {
		return "", ""
	}
	return chain[hookChainTable].Text(), "nft"
}

// legacyTables are the tables of iptables-legacy by the priority of their functions. -450 is that of raw before defragmentation.
var legacyTables = map[int32]string{
	-450: "raw", -300: "raw", -150: "mangle", -100: "nat", 0: "filter", 50: "security", 100: "nat",
}
