package snapshot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/nlattr"
)

// The messages of nf_tables and their attributes (include/uapi/linux/netfilter/nf_tables.h).
const (
	nftSubsystem   = 10 << 8
	nftGetTable    = nftSubsystem | 1
	nftGetChain    = nftSubsystem | 4
	nftGetRule     = nftSubsystem | 7
	nftTableName   = 1
	nftChainTable  = 1
	nftChainName   = 3
	nftChainHook   = 4
	nftHookNumber  = 1
	nftHookPrio    = 2
	nftHookDevice  = 3
	nftRuleTable   = 1
	nftRuleChain   = 2
	nftRuleExprs   = 4
	nftExprName    = 1
	nftExprData    = 2
	nftPayloadSreg = 5 // of an expression that writes
	nfgenmsgHeader = 4
)

// nftMessage is what nf_tables says of a table, a chain or a rule.
type nftMessage struct {
	family uint8
	attrs  map[uint16]nlattr.Attribute
}

// nftMessages lists tables, chains or rules.
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
	rules, err := t.nftMessages(nftGetRule)
	if err != nil {
		t.unread("nftables rules", "%v", err)
	}
	var read *nftReader
	if err == nil {
		read = newNFTReader(rules)
	}
	listed, listErr := t.listings()
	for i := range tables {
		t.nativeTable(&tables[i], chains, read, listed, listErr)
	}
	t.nativeRules(rules)
}

// nativeTable notes a table that the tools did not show, with its rules if they are listed, or the chains of it that they did not. Without
// a reader of their rules nothing is known of what they do.
func (t *taker) nativeTable(m *nftMessage, chains []nftMessage, read *nftReader, listed map[nftTableID]string, listErr error) {
	table := NFTable{Family: nftFamily(m.family), Name: m.attrs[nftTableName].Text()}
	own := t.ofIPTables(m.family, table.Name)
	for i := range chains {
		if c := &chains[i]; c.family == m.family && c.attrs[nftChainTable].Text() == table.Name {
			table.add(c, own, read)
		}
	}
	what := nftTableUnread + table.Family + " " + table.Name
	switch {
	case own && len(table.Chains) == 0:
		return
	case own:
		t.unread(what, "not supported: only its chains that iptables made are read")
	case listErr != nil:
		t.unread(what, "not supported: %v", listErr)
	case t.unshown[nftTableID{m.family, table.Name}] != "":
		t.unread(what, "%s", t.unshown[nftTableID{m.family, table.Name}])
	default:
		table.Rules = listed[nftTableID{m.family, table.Name}]
	}
	if slices.Contains(nftFamilies, table.Family) && table.Name != "" {
		t.snapshot.NFTables = append(t.snapshot.NFTables, table)
	}
}

// nativeRules names the chains of iptables' tables with rules that nft made. iptables-nft-save prints those without the parts that it
// does not know, such as what is looked up in a set, and says nothing.
func (t *taker) nativeRules(rules []nftMessage) {
	var places []nftChainID
	number, native := map[nftChainID]int{}, map[nftChainID][]string{}
	for i := range rules {
		r := &rules[i]
		at := nftChainID{nftTableID{r.family, r.attrs[nftRuleTable].Text()}, r.attrs[nftRuleChain].Text()}
		number[at]++
		if !t.ofIPTables(r.family, at.name) || !madeWithNFT(r.attrs[nftRuleExprs].Value) {
			continue
		}
		if native[at] == nil {
			places = append(places, at)
		}
		native[at] = append(native[at], strconv.Itoa(number[at]))
	}
	for _, at := range places {
		t.unread(fmt.Sprintf("chain %s of nftables table %s %s", at.chain, nftFamily(at.family), at.name),
			"not supported: nft made rules in it, of which iptables-nft-save may leave parts out in silence (rule %s)",
			strings.Join(native[at], ", "))
	}
}

// madeWithNFT says whether a rule has what iptables-nft never writes into one: no counter, something looked up in a set, or something
// written into the packet.
func madeWithNFT(expressions []byte) bool {
	counted := false
	for element, err := range nlattr.All(expressions) {
		if err != nil {
			return true
		}
		expression, err := attributesByType(element.Value)
		if err != nil {
			return true
		}
		switch expression[nftExprName].Text() {
		case "counter":
			counted = true
		case "lookup":
			return true
		case "payload":
			data, err := attributesByType(expression[nftExprData].Value)
			if _, writes := data[nftPayloadSreg]; err != nil || writes {
				return true
			}
		}
	}
	return !counted
}

// add adds a chain that hangs on a hook. In a table of iptables those with the names and the priorities of its built-in chains are read as
// its rules.
func (n *NFTable) add(chain *nftMessage, own bool, read *nftReader) {
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
	if own && c.Name == strings.ToUpper(c.Hook) && legacyTables[c.Priority] == n.Name || c.Hook == "" || c.Name == "" {
		return
	}
	if read != nil {
		read.know(&c, chain)
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

// nftTableID names a table of nf_tables.
type nftTableID struct {
	family uint8
	name   string
}

// ofIPTables says whether the tools of iptables have read a table.
func (t *taker) ofIPTables(family uint8, name string) bool {
	return (family == unix.NFPROTO_IPV4 || family == unix.NFPROTO_IPV6) && slices.Contains(tablesOfIPTables, name) &&
		t.unshown[nftTableID{family, name}] == ""
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
