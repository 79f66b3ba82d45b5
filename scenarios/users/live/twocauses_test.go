package live

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
)

// TestARuleThatDropsAndOneThatIsMissingAreTwoThings: the ways that end well after a sync of kube-proxy have nothing to do with the rule
// that drops, and none of kube-proxy's rules that they meet is to blame.
func TestARuleThatDropsAndOneThatIsMissingAreTwoThings(t *testing.T) {
	cluster := recorded(t, "nft", dumpNodes...)
	edit(t, cluster.Snapshots[1], netfilter.IPv4, "*filter\n",
		"*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -i eth0 -d 10.244.0.0/16 -j DROP\nCOMMIT\n*filter\n")
	edit(t, cluster.Snapshots[0], netfilter.IPv4,
		`[0:0] -A KUBE-SVC-67NZLRHBNDSAWJRO -m comment --comment "shop/web:http -> 10.244.1.2:8080" `+
			"-m statistic --mode random --probability 0.33333333349 -j KUBE-SEP-XTJTEC7KOHLCQM25\n", "")
	report := examined(t, cluster)
	text := screenOf(t, report)
	var codes []cause.Code
	for i := range report.Findings {
		codes = append(codes, report.Findings[i].Code)
	}
	require.Equal(t, []cause.Code{cause.ForeignDrop, cause.RuleMissing}, codes, text)
	assert.Len(t, report.Findings[1].Missing, 1, text)
}
