package files

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// nftables collects what "nft list ruleset" prints of one table: its text, through which packets are walked, and for a table that cannot
// be walked its base chains, and what the words of each chain and map can do to a packet: what any of the words means.
type nftables struct {
	table  snapshot.NFTable
	text   strings.Builder
	blocks map[string]*nftBlock // of the chains, and with "@" of the maps, by their names
	open   []string             // the blocks that the line is in; those without a name are ""
}

// nftBlock is a chain or a map.
type nftBlock struct {
	may   []snapshot.NFEffect
	leads []string // the blocks whose verdicts it takes over
	base  *snapshot.NFChain
}

var (
	nativeHead  = lazyregexp.New(`^table (ip|ip6|inet|arp|bridge|netdev) (\S+) \{`)
	nativeBlock = lazyregexp.New(`^(chain|map) (\S+) \{`)
	nativeBase  = lazyregexp.New(`^type (\w+) hook (\w+)(?: device "?([^"\s;]+)"?)?.* priority ([^;]+);`)
	nativeText  = lazyregexp.New(`"[^"]*"`)
)

// beginNative begins a table.
func (t *textReader) beginNative(line string) {
	m := nativeHead().FindStringSubmatch(line)
	t.native = &nftables{table: snapshot.NFTable{Family: m[1], Name: m[2]}, blocks: map[string]*nftBlock{}, open: []string{""}}
	t.native.text.WriteString(line + "\n")
	t.anyUse = true
}

// nativeLine reads a line within a table.
func (t *textReader) nativeLine(line string) {
	n := t.native
	n.text.WriteString(line + "\n")
	line = strings.TrimSpace(line)
	if m := nativeBlock().FindStringSubmatch(line); m != nil && len(n.open) == 1 {
		name := m[2]
		if m[1] == "map" {
			name = "@" + name
		}
		n.open, n.blocks[name] = append(n.open, name), &nftBlock{}
		return
	}
	if len(n.open) > 1 && n.blocks[n.open[1]] != nil {
		n.line(n.blocks[n.open[1]], line)
	}
	for _, c := range nativeText().ReplaceAllString(line, "") {
		switch c {
		case '{':
			n.open = append(n.open, "")
		case '}':
			n.open = n.open[:len(n.open)-1]
		}
		if len(n.open) == 0 {
			t.endNative()
			return
		}
	}
}

// line reads a line of a chain or a map: what a base chain hangs on, or words.
func (n *nftables) line(b *nftBlock, line string) {
	m := nativeBase().FindStringSubmatch(line)
	if m == nil {
		b.words(strings.Fields(nativeText().ReplaceAllString(line, " ")))
		return
	}
	b.base = &snapshot.NFChain{Name: n.open[1], Type: m[1], Hook: m[2], Device: m[3], Priority: nftPriority(n.table.Family, m[4])}
	if strings.Contains(line, "policy drop;") {
		b.may = append(b.may, snapshot.EffectDrop)
	}
}

// words notes what the words of rules, or of the elements of a map, can do.
func (b *nftBlock) words(words []string) {
	for i, word := range words {
		word = strings.Trim(word, ",;")
		before, next := "", ""
		if i > 0 {
			before = words[i-1]
		}
		if i+1 < len(words) {
			next = strings.Trim(words[i+1], ",;")
		}
		switch effect, known := nftWords[word]; {
		case before == "status" || before == "type": // they ask for it
		case known:
			b.may = append(b.may, effect)
		case word == "set" && before != "size" && before != "nftrace" && before != "priority":
			b.may = append(b.may, snapshot.EffectChange)
		case word == "jump" || word == "goto" || word == "vmap" && strings.HasPrefix(next, "@"):
			b.leads = append(b.leads, next)
		}
	}
}

// nftWords are what words of nft can do to a packet.
var nftWords = map[string]snapshot.NFEffect{
	"drop": snapshot.EffectDrop, "reject": snapshot.EffectReject, "queue": snapshot.EffectQueue,
	"dnat": snapshot.EffectTranslate, "snat": snapshot.EffectTranslate, "masquerade": snapshot.EffectTranslate,
	"redirect": snapshot.EffectTranslate, "notrack": snapshot.EffectChange, "tproxy": snapshot.EffectChange,
	"synproxy": snapshot.EffectChange, "fwd": snapshot.EffectChange, "flow": snapshot.EffectChange, "xt": snapshot.EffectUnknown,
}

// nftPriority is a priority by its number, or by its name with a number that is added to it (the section CHAINS of nft(8)).
func nftPriority(family, text string) int32 {
	words := strings.Fields(text)
	names := map[string]int{"raw": -300, "mangle": -150, "dstnat": -100, "filter": 0, "security": 50, "srcnat": 100}
	if family == "bridge" {
		names = map[string]int{"dstnat": -300, "filter": -200, "out": 100, "srcnat": 300}
	}
	priority := names[words[0]]
	number, _ := strconv.Atoi(strings.Join(words[min(len(words)-1, 1):], ""))
	return int32(priority + number)
}

// endNative adds the table that has ended. Its base chains that iptables-nft made are read from what iptables-nft-save prints.
func (t *textReader) endNative() {
	n, node := t.native, t.result.Node
	t.native = nil
	own := false // iptables-nft made some of it
	for _, name := range slices.Sorted(maps.Keys(n.blocks)) {
		c := n.blocks[name].base
		if c == nil || isOfIPTables(&n.table, c) {
			own = own || c != nil
			continue
		}
		if c.May = n.may(name, map[string]bool{}); len(c.May) == 0 {
			c.May = []snapshot.NFEffect{snapshot.EffectPass}
		}
		slices.Sort(c.May)
		c.May = slices.Compact(c.May)
		n.table.Chains = append(n.table.Chains, *c)
	}
	switch {
	case own && len(n.table.Chains) == 0:
		return
	case own:
		t.unread("nftables table "+n.table.Family+" "+n.table.Name, "not supported: iptables made some of its chains, and nft made others")
	default:
		n.table.Rules = n.text.String()
	}
	node.NFTables = append(node.NFTables, n.table)
}

// may is what a block and those that it leads to can do.
func (n *nftables) may(name string, seen map[string]bool) []snapshot.NFEffect {
	b := n.blocks[name]
	switch {
	case seen[name]:
		return nil
	case b == nil:
		return []snapshot.NFEffect{snapshot.EffectUnknown}
	}
	seen[name] = true
	may := slices.Clone(b.may)
	for _, next := range b.leads {
		may = append(may, n.may(next, seen)...)
	}
	return may
}

// isNameOfIPTables says whether the table has a name of iptables'.
func isNameOfIPTables(table *snapshot.NFTable) bool {
	names := []string{"raw", "mangle", "nat", "filter", "security"}
	return (table.Family == "ip" || table.Family == "ip6") && slices.Contains(names, table.Name)
}

// isOfIPTables says whether iptables-nft-save shows a base chain.
func isOfIPTables(table *snapshot.NFTable, c *snapshot.NFChain) bool {
	return isNameOfIPTables(table) && c.Name == strings.ToUpper(c.Hook)
}
