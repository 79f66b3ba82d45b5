package snapshot

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/internal/nlattr"
	"github.com/chainwalk/chainwalk/netfilter"
)

// hookMessage is what nfnetlink_hook says of a function; table and chain are of nf_tables, whose functions are named by them.
func hookMessage(priority int32, function, table, chain string) []byte {
	data := []byte{2, 0, 0, 0}
	data = nlattr.AppendUint32(data, hookPriority, uint32(priority))
	data = nlattr.Append(data, hookFunction, append([]byte(function), 0)...)
	if table == "" {
		return data
	}
	return nlattr.AppendNested(data, hookChainInfo, func(data []byte) []byte {
		data = nlattr.AppendNested(data, hookInfoDesc, func(data []byte) []byte {
			data = nlattr.Append(data, hookChainTable, append([]byte(table), 0)...)
			return nlattr.Append(data, hookChainName, append([]byte(chain), 0)...)
		})
		return nlattr.AppendUint32(data, hookInfoType, hookTypeNFTables)
	})
}

// TestOrderOfHooks reads the functions of FORWARD and OUTPUT, in the order of the kernel's list, by the names that kernels have had.
func TestOrderOfHooks(t *testing.T) {
	order := func(table string, first netfilter.Dialect) HookOrder {
		return HookOrder{Family: netfilter.IPv4, Hook: "OUTPUT", Table: table, First: first}
	}
	messages := [][]byte{
		hookMessage(-450, "ipt_do_table", "", ""),
		hookMessage(-400, "ipv4_conntrack_defrag", "", ""),
		hookMessage(-300, "nft_do_chain_ipv4", "raw", "OUTPUT"),
		hookMessage(-200, "ipv4_conntrack_local", "", ""),
		hookMessage(-150, "nft_do_chain_inet", "guard", "OUTPUT"),
		hookMessage(-150, "nf_route_table_hook4", "mangle", "OUTPUT"),
		hookMessage(-150, "iptable_mangle_hook", "", ""),
		hookMessage(-100, "nf_nat_ipv4_local_fn", "", ""),
		hookMessage(0, "nft_do_chain_ipv4", "filter", "extra"),
		hookMessage(0, "iptable_filter_hook", "", ""),
		hookMessage(0, "nft_do_chain_ipv4", "filter", "OUTPUT"),
		hookMessage(50, "ipt_do_table", "", ""),
		{2},
		nil,
	}
	assert.Equal(t, []HookOrder{order("raw", "legacy"), order("mangle", "nft"), order("filter", "legacy")},
		orderOf(netfilter.IPv4, "OUTPUT", messages))
	assert.Empty(t, orderOf(netfilter.IPv4, "OUTPUT", nil))
}

// nativeHook is what nfnetlink_hook says of a native chain.
func nativeHook(priority int32, family uint8, table, chain string) []byte {
	data := nlattr.AppendUint32([]byte{2, 0, 0, 0}, hookPriority, uint32(priority))
	return nlattr.AppendNested(data, hookChainInfo, func(data []byte) []byte {
		data = nlattr.AppendNested(data, hookInfoDesc, func(data []byte) []byte {
			data = nlattr.Append(data, hookChainTable, append([]byte(table), 0)...)
			data = nlattr.Append(data, hookChainFamily, family)
			return nlattr.Append(data, hookChainName, append([]byte(chain), 0)...)
		})
		return nlattr.AppendUint32(data, hookInfoType, hookTypeNFTables)
	})
}

// TestOrderOfNativeChains reads the chains of one priority, in the order of the kernel's list.
func TestOrderOfNativeChains(t *testing.T) {
	messages := [][]byte{
		nativeHook(-150, 1, "fw", "mangle"),
		hookMessage(-100, "nf_nat_ipv4_in", "", ""), nativeHook(-100, 2, "kube-proxy", "nat-prerouting"),
		hookMessage(-100, "nft_nat_do_chain", "nat", "PREROUTING"), hookMessage(-100, "iptable_nat_do_chain", "", ""),
		hookMessage(0, "nft_do_chain_ipv4", "filter", "PREROUTING"), hookMessage(0, "iptable_filter_hook", "", ""), nil,
	}
	assert.Equal(t, []HookChains{{Family: netfilter.IPv4, Hook: "PREROUTING",
		Chains: []string{"ip kube-proxy nat-prerouting", "iptables-nft nat", "iptables-legacy nat"}}},
		hookChainsOf(netfilter.IPv4, "PREROUTING", messages))
	assert.Empty(t, hookChainsOf(netfilter.IPv4, "PREROUTING", nil))
}

func TestNFTHookNames(t *testing.T) {
	for _, row := range []struct {
		family uint8
		number uint32
		want   string
	}{
		{1, 5, "ingress"}, {2, 0, "prerouting"}, {10, 4, "postrouting"}, {3, 1, "output"}, {3, 2, "forward"}, {5, 0, "ingress"}, {5, 1, "egress"},
		{7, 3, "output"}, {2, 6, ""}, {5, 2, ""}, {3, 3, ""},
	} {
		assert.Equal(t, row.want, nftHookName(row.family, row.number), "family %d hook %d", row.family, row.number)
	}
}
