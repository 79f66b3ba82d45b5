package trial

import (
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// fullSyncPeriod is when a proxier writes everything again, whatever has changed.
const fullSyncPeriod = time.Hour

// faulty notes a fault. One that is still to come leaves the old rules or the new ones, as a
// sync that fails does.
func (r *run) faulty(f *scenarios.Fault) {
	r.faults = r.faults || !f.Heal
	r.unsaved = r.unsaved || f.SaveFails > 0
	r.unsearched = r.unsearched || f.ConntrackFails > 0
	for _, n := range r.nodes {
		if f.Node != "" && f.Node != n.name {
			continue
		}
		if len(f.Flush)+len(f.Run) > 0 {
			r.kept.affinity.Forget(n.name)
		}
		n.damaged(f, f.Dialect.In(r.cluster.Dialect) == r.cluster.Dialect, r.passed)
	}
	r.specs.renew()
}

// flushedTable is the table whose rules a command line takes away, and leaves its chains. That the jumps to them are gone, a proxier's
// monitor notices.
func flushedTable(line string) (table string, flushes bool) {
	words := strings.Fields(line)
	if len(words) != 4 || words[0] != "iptables" && words[0] != "ip6tables" || words[1] != "-t" || words[3] != "-F" {
		return "", false
	}
	return words[2], words[2] == "nat" || words[2] == "filter"
}

// ownNFT reports whether a command line of nft is about kube-proxy's table, and whether it deletes that.
func ownNFT(line string) (own, deleted bool) {
	words := strings.Fields(line) // nft, command, kind, family, table
	own = len(words) >= 5 && words[0] == "nft" && (words[3] == "ip" || words[3] == "ip6") && words[4] == tools.NFTTable
	return own, own && words[1] == "delete" && words[2] == "table"
}

func addsNFT(line string) bool { return strings.HasPrefix(line, "nft add ") }

// ownChain reports whether a command line changes only chains of the proxier's own.
func ownChain(line string) bool {
	words := strings.Fields(line)
	if len(words) == 0 || words[0] != "iptables" && words[0] != "ip6tables" {
		return false
	}
	for i, word := range words[:len(words)-1] {
		switch word {
		case "-F", "-X", "-D", "-N", "-A", "-I", "-R":
			return provenance.WriterOf(words[i+1]).IsKubernetes()
		}
	}
	return false
}
