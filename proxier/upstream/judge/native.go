package judge

import (
	"fmt"
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/kubenft"
	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
)

// rulesOfPeer are the rules that a peer's kernel holds in a mode. Where onlyReached is set, chains of services that no packet can come to
// are left out in mode iptables.
func rulesOfPeer(mode cases.Mode, peer peers.Peer, family v1.IPFamily, onlyReached bool) map[string][]rule {
	if mode == cases.NFTables {
		return nativeRules(listing(peer, family))
	}
	return rulesOf(peer.Kernel().Rules(peers.KernelFamily(family)), onlyReached)
}

// listing is what nft lists of the table of a family; empty if there is none.
func listing(peer peers.Peer, family v1.IPFamily) string {
	text, err := peer.Kernel().Exec().Command("nft", "list", "table", word(family), kubenft.Table).Output()
	if err != nil {
		return ""
	}
	return string(text)
}

// word is nft's for a family.
func word(family v1.IPFamily) string {
	if family == v1.IPv6Protocol {
		return "ip6"
	}
	return "ip"
}

// nativeRules are the lines of each part of a table, by "chain NAME", "set NAME", "map NAME". Chains and sets are listed in the order in
// which they were made, which is lost here; rules keep their order, and nft sorts elements. A chain of a service without rules to which
// nothing leads waits for its deletion, when that is: it is left out.
func nativeRules(listing string) map[string][]rule {
	parts := map[string][]rule{}
	var name string
	used := map[string]bool{}
	for line := range strings.Lines(listing) {
		line = strings.TrimSuffix(line, "\n")
		text, inside := strings.CutPrefix(line, "\t")
		switch {
		case !inside:
		case text == "}":
			name = ""
		case name == "" && strings.HasSuffix(text, " {"):
			name = strings.TrimSuffix(text, " {")
			parts[name] = []rule{}
		case name != "":
			text = strings.TrimSpace(text)
			parts[name] = append(parts[name], rule{text: text, bare: elementComment.ReplaceAllString(text, "$1")})
			for _, target := range targetsOf(text) {
				used[target] = true
			}
		}
	}
	for part, lines := range parts {
		if chain, is := strings.CutPrefix(part, "chain "); is && strings.Contains(chain, "/") && len(lines) == 0 && !used[chain] {
			delete(parts, part)
		}
	}
	return parts
}

// elementComment is the comment of an element of a map, which is the name of a service port.
var elementComment = regexp.MustCompile(` comment "[^"]*"( :)`)

// targetsOf are the chains that a rule or an element leads to.
func targetsOf(line string) []string {
	var targets []string
	words := strings.Fields(line)
	for i := 1; i < len(words); i++ {
		if words[i-1] == "goto" || words[i-1] == "jump" {
			targets = append(targets, strings.TrimSuffix(words[i], ","))
		}
	}
	return targets
}

// forgetAffinity empties the sets of affinity of a peer's kernel, which packets have filled.
func forgetAffinity(peer peers.Peer, family v1.IPFamily) {
	for part := range nativeRules(listing(peer, family)) {
		if set, is := strings.CutPrefix(part, "set "); is && strings.HasPrefix(set, "affinity-") {
			if said, err := peer.Kernel().Exec().Command("nft", "flush", "set", word(family), kubenft.Table, set).CombinedOutput(); err != nil {
				panic(fmt.Sprintf("flushing %s: %v: %s", set, err, said))
			}
		}
	}
}
