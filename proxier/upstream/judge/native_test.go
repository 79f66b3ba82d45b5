package judge

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
)

const nativeListing = `table ip kube-proxy {
	comment "rules for kube-proxy"
	map service-ips {
		type ipv4_addr . inet_proto . inet_service : verdict
		elements = { 172.30.0.1 . tcp . 80 : goto service-A-n/used/tcp/http,
			     172.30.0.2 . tcp . 80 comment "n/none:http" : goto reject-chain }
	}

	chain service-A-n/used/tcp/http {
	}

	chain service-B-n/unused/tcp/http {
	}

	chain services {
		ip daddr . meta l4proto . th dport vmap @service-ips
	}
}
`

func TestNativeRules(t *testing.T) {
	parts := nativeRules(nativeListing)
	assert.Len(t, parts, 3, "what waits for its deletion is left out, an empty chain that is used is not")
	assert.Contains(t, parts, "chain service-A-n/used/tcp/http")
	assert.Equal(t, []rule{{
		text: "ip daddr . meta l4proto . th dport vmap @service-ips", bare: "ip daddr . meta l4proto . th dport vmap @service-ips",
	}}, parts["chain services"])
	elements := parts["map service-ips"]
	require.Len(t, elements, 3)
	assert.Equal(t, "172.30.0.2 . tcp . 80 : goto reject-chain }", elements[2].bare)
	var lines []string
	for _, e := range elements {
		lines = append(lines, e.text)
	}
	assert.Equal(t, map[string]string{
		"172.30.0.1 . tcp . 80": "goto service-A-n/used/tcp/http", "172.30.0.2 . tcp . 80": "goto reject-chain",
	}, elementsOf(lines))
}

// native is plainCase in mode nftables.
func native(real bool) *cases.Case {
	c := plainCase()
	c.Settings = cases.Settings{Mode: cases.NFTables, Detect: "none", MasqueradeBit: 14, Accounting: "absent", Real: real}
	return c
}

// TestNativeDifferencesAreFound spoils our kernel in each way, and expects the kinds of differences that come of it.
func TestNativeDifferencesAreFound(t *testing.T) {
	klog.SetLogger(logr.Discard())
	for name, test := range map[string]struct {
		spoils []string // what somebody has nft do after the last sync
		kinds  []string
	}{
		"nothing":           {},
		"a missing element": {[]string{"flush", "map", "ip", "kube-proxy", "service-ips"}, []string{"rules", "packets"}},
		"a missing rule":    {[]string{"flush", "chain", "ip", "kube-proxy", "services"}, []string{"rules", "packets"}},
		"a rule too many":   {[]string{"add", "rule", "ip", "kube-proxy", "filter-input", "counter"}, []string{"rules"}},
		"a missing table":   {[]string{"delete", "table", "ip", "kube-proxy"}, []string{"rules", "packets"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := native(false)
			r, err := start(c, NewReport())
			require.NoError(t, err)
			for i := range c.Steps {
				require.Nil(t, Unexplained(r.take(&c.Steps[i])))
			}
			if test.spoils != nil {
				said, err := r.ours.Kernel().Exec().Command("nft", test.spoils...).CombinedOutput()
				require.NoError(t, err, string(said))
			}
			kinds := map[string]bool{}
			differences := r.compare(v1.IPv4Protocol, nil, nil)
			r.explainAll(v1.IPv4Protocol, differences, false)
			for _, d := range differences {
				if d.Explanation == "" {
					kinds[d.Kind] = true
				}
			}
			for _, kind := range test.kinds {
				assert.True(t, kinds[kind], "no difference of kind %s", kind)
			}
			assert.Equal(t, len(test.kinds) == 0, len(kinds) == 0, kinds)
		})
	}
}

// TestGeneratedCasesAgreeNatively is a small part of what make peer MODE=nftables does.
func TestGeneratedCasesAgreeNatively(t *testing.T) {
	klog.SetLogger(logr.Discard())
	report := NewReport()
	for number := range uint64(8) {
		differences, err := Run(cases.GeneratedIn(cases.NFTables, 4711, number), report)
		require.NoError(t, err)
		require.Nil(t, Unexplained(differences), "case %d", number)
	}
	assert.Greater(t, report.Rules, 1000)
	assert.Greater(t, report.Packets, 1000)
}

// TestKernelBothSides runs each call of both proxiers on the real kernel too.
func TestKernelBothSides(t *testing.T) {
	kerneltest.Need(t, "nft")
	klog.SetLogger(logr.Discard())
	for number := range uint64(3) {
		c := cases.GeneratedIn(cases.NFTables, 4711, number)
		c.Settings.Real = true
		differences, err := Run(c, NewReport())
		require.NoError(t, err)
		require.Nil(t, Unexplained(differences), "case %d", number)
	}
}
