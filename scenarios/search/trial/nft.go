package trial

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// tableNFT is what lines of kube-proxy's table of nftables have for the name of their table.
const tableNFT = "nft"

// inNFTables says whether the proxier of a node runs in mode nftables.
func (n *nodeState) inNFTables() bool { return oracle.ModeOf(n.config) == oracle.NFTables }

// listed are the lines of kube-proxy's table on a node: rules, elements, and the chains, sets and maps themselves.
func (r *run) listed(ctx context.Context, n *nodeState, family scenarios.IPFamily) ([]line, error) {
	text, err := r.world.List(ctx, n.name, family)
	return linesOfList(text), err
}

// listedOf are those on a kernel.
func listedOf(kernel *fakekernel.Kernel, family scenarios.IPFamily) ([]line, error) {
	text, err := tools.Run(kernel.Exec(), "", "nft", "list", "table", tools.NFTFamily(family), tools.NFTTable)
	return linesOfList(text), err
}

// leadsTo is the chain that a rule or an element leads to.
var leadsTo = regexp.MustCompile(`\b(?:goto|jump) (\S+)`)

// linesOfList are the lines of a table that nft has listed, without chains that wait to be deleted.
func linesOfList(list string) []line {
	all := allLinesOfList(list)
	kept := slices.DeleteFunc(slices.Clone(all), func(l line) bool { return l.isWaiting(all) })
	slices.SortStableFunc(kept, func(a, b line) int { return strings.Compare(a.chain, b.chain) }) // containers are listed as they were made
	return kept
}

// waitingOf are the chains that wait to be deleted, of a table that nft has listed.
func waitingOf(list string) (chains []string) {
	all := allLinesOfList(list)
	for i := range all {
		if all[i].isWaiting(all) {
			chains = append(chains, all[i].chain)
		}
	}
	return chains
}

// allLinesOfList are the lines of a table that nft has listed. What sets of affinity remember of clients is left out.
func allLinesOfList(list string) (out []line) {
	within := ""
	for text := range strings.Lines(list) {
		text = strings.TrimSpace(text)
		kind, rest, _ := strings.Cut(text, " ")
		if name, opens := strings.CutSuffix(rest, " {"); opens && kind != "table" {
			if within = name; kind == "chain" {
				out = append(out, line{table: tableNFT, chain: name, text: ":" + name})
			}
			continue
		}
		text = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(text, "elements = { "), ","), " }")
		if text == "" || text == "}" || kind == "table" || strings.HasPrefix(within, "affinity-") && strings.Contains(text, " expires ") {
			continue
		}
		for part := range strings.SplitSeq(text, ", ") {
			l := line{table: tableNFT, chain: within, text: part}
			if kind != "elements" && !isElement(part) { // a rule may have commas of its own
				l.text = text
			}
			if m := leadsTo.FindStringSubmatch(l.text); m != nil {
				l.jump = strings.TrimSuffix(m[1], ",")
			}
			if !slices.Contains(out, l) {
				out = append(out, l)
			}
		}
	}
	return out
}

// isWaiting says whether a line is a chain without rules to which nothing leads, among others: it is deleted some time after it went out of
// use, since kernels before 6.2 count a chain as used for a moment longer.
func (l *line) isWaiting(all []line) bool {
	return strings.HasPrefix(l.text, ":") && strings.Contains(l.chain, "/") && !slices.ContainsFunc(all, func(o line) bool {
		return o.jump == l.chain || o.chain == l.chain && o.text != l.text || strings.Contains(o.text, " "+l.chain)
	})
}

// isElement says whether a line of a list is one of a set of addresses, of which there are several in a line.
func isElement(text string) bool {
	return !strings.Contains(text, " ") && strings.ContainsAny(text, ".:")
}

// transactions is how many the nf_tables of a node have carried out.
func (r *run) transactions(n *nodeState) uint32 {
	if k := nftables.In(r.world.Kernel(n.name).Namespace()); k != nil {
		return k.State().Generation
	}
	return 0
}
