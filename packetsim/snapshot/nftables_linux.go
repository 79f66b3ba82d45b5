package snapshot

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/nlattr"
)

// The messages of nf_tables and their attributes (include/uapi/linux/netfilter/nf_tables.h).
const (
	nftSubsystem   = 10 << 8
	nftGetTable    = nftSubsystem | 1
	nftGetChain    = nftSubsystem | 4
	nftTableName   = 1
	nftChainTable  = 1
	nftChainName   = 3
	nftChainHook   = 4
	nftHookNumber  = 1
	nftHookPrio    = 2
	nftHookDevice  = 3
	nfgenmsgHeader = 4
)

// nftMessage is what nf_tables says of a table or a chain.
type nftMessage struct {
	family uint8
	attrs  map[uint16]nlattr.Attribute
}

// nftMessages lists tables or chains.
func (t *taker) nftMessages(message int) ([]nftMessage, error) {
	dumped, err := dump(func() ([][]byte, error) { return dumpNetfilter(message, unix.AF_UNSPEC) })
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, needsAdmin)
	}
	var out []nftMessage
	for _, data := range dumped {
		if len(data) < nfgenmsgHeader {
			continue
		}
		attrs, err := attributesByType(data[nfgenmsgHeader:])
		if err != nil {
			return nil, err
		}
		out = append(out, nftMessage{family: data[0], attrs: attrs})
	}
	return out, nil
}

// nativeTables lists the nftables tables and chains that the iptables tools do not show.
func (t *taker) nativeTables() {
	const what = "nftables tables"
	// Asking loads nf_tables, unless iptables-nft-save has asked already.
	if !t.nftAsked && !t.moduleLoaded("nf_tables") {
		return
	}
	tables, err := t.nftMessages(nftGetTable)
	if err != nil {
		t.unread(what, "%v", err)
		return
	}
	chains, err := t.nftMessages(nftGetChain)
	if err != nil {
		t.unread("nftables chains", "%v", err)
	}
	for i := range tables {
		m := &tables[i]
		table := NFTable{Family: nftFamily(m.family), Name: m.attrs[nftTableName].Text()}
		own := t.ofIPTables(m.family, table.Name)
		for j := range chains {
			if c := &chains[j]; c.family == m.family && c.attrs[nftChainTable].Text() == table.Name {
				table.add(c, own)
			}
		}
		if own && len(table.Chains) == 0 {
			continue
		}
		if !own && !t.noted(table.Name, m.family) {
			t.unread(fmt.Sprintf("nftables table %s %s", table.Family, table.Name), "not supported: only tables made by iptables are read")
		}
		if own {
			t.unread(fmt.Sprintf("chains of nftables table %s %s", table.Family, table.Name), "not supported: they are not those of iptables")
		}
		if slices.Contains(nftFamilies, table.Family) && table.Name != "" {
			t.snapshot.NFTables = append(t.snapshot.NFTables, table)
		}
	}
}

// add adds a chain that hangs on a hook. In a table of iptables those with the names of its built-in chains are read as its rules.
func (n *NFTable) add(chain *nftMessage, own bool) {
	hook, err := attributesByType(chain.attrs[nftChainHook].Value)
	if err != nil {
		return
	}
	number, err := hook[nftHookNumber].Uint32()
	if err != nil {
		return // no base chain
	}
	priority, _ := hook[nftHookPrio].Uint32()
	c := NFChain{Name: chain.attrs[nftChainName].Text(), Hook: nftHookName(chain.family, number), Priority: int32(priority),
		Device: hook[nftHookDevice].Text()}
	if own && c.Name == strings.ToUpper(c.Hook) || c.Hook == "" || c.Name == "" {
		return
	}
	n.Chains = append(n.Chains, c)
}

// nftHookName is a hook in the words of nft; empty if there is none.
func nftHookName(family uint8, number uint32) string {
	names := nftHooks[:6]
	switch family {
	case unix.NFPROTO_NETDEV:
		names = nftHooks[5:]
	case unix.NFPROTO_ARP:
		names = []string{"input", "output", "forward"}
	}
	if number >= uint32(len(names)) {
		return ""
	}
	return names[number]
}

// ofIPTables says whether the tools of iptables have read a table.
func (t *taker) ofIPTables(family uint8, name string) bool {
	return (family == unix.NFPROTO_IPV4 || family == unix.NFPROTO_IPV6) &&
		slices.Contains([]string{"raw", "mangle", "nat", "filter", "security"}, name) && !t.noted(name, family)
}

// noted says whether the tools said of a table that they cannot show it.
func (t *taker) noted(name string, family uint8) bool {
	what := map[uint8]string{unix.NFPROTO_IPV4: "IPv4 rules", unix.NFPROTO_IPV6: "IPv6 rules"}[family]
	return slices.ContainsFunc(t.snapshot.Unread, func(u Unread) bool {
		return u.What == what && strings.HasPrefix(u.Why, "Table `"+name+"'")
	})
}

func nftFamily(family uint8) string {
	switch family {
	case unix.NFPROTO_INET:
		return "inet"
	case unix.NFPROTO_IPV4:
		return "ip"
	case unix.NFPROTO_IPV6:
		return "ip6"
	case unix.NFPROTO_ARP:
		return "arp"
	case unix.NFPROTO_BRIDGE:
		return "bridge"
	case unix.NFPROTO_NETDEV:
		return "netdev"
	}
	return fmt.Sprintf("of family %d", family)
}
