package live

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
)

// tagsOf are the elements of a page, and how many of each class there are.
func tagsOf(t *testing.T, text string) (tags []string, classes map[string]int) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	require.NoError(t, err)
	classes = map[string]int{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		shape := n.Data
		for _, a := range n.Attr {
			shape += " " + a.Key
			if a.Key == "class" {
				classes[a.Val]++
			}
		}
		tags = append(tags, shape)
	}
	return tags, classes
}

// TestTheDoctorsPageHasTheWayFromHostToHost: of the first finding unfolded, with what suffers in figures.
func TestTheDoctorsPageHasTheWayFromHostToHost(t *testing.T) {
	cluster := small(t, "nft", dumpNodes...)
	edit(t, cluster.Snapshots[0], netfilter.IPv4,
		`[0:0] -A KUBE-SVC-67NZLRHBNDSAWJRO -m comment --comment "shop/web:http -> 10.244.1.2:8080" `+
			"-m statistic --mode random --probability 0.33333333349 -j KUBE-SEP-XTJTEC7KOHLCQM25\n", "")
	var page strings.Builder
	report := examined(t, cluster)
	require.NoError(t, report.WriteHTML(&page))
	_, classes := tagsOf(t, page.String())
	assert.Equal(t, 1, classes["lanes"]/max(classes["outcome"], 1), "a way has lanes")
	assert.Equal(t, 1, strings.Count(page.String(), `<details class="source" open="">`), "one way is unfolded")
	assert.Contains(t, page.String(), "service shop/web:http", "objects have their names")
	assert.NotContains(t, page.String(), "rule by rule")
	assert.Contains(t, page.String(), "<dt>service</dt>")

	report.Findings[0].Packets[0].told = nil // as of a report that was read
	page.Reset()
	require.NoError(t, report.WriteHTML(&page))
	assert.Contains(t, page.String(), "The way, rule by rule")
}

// TestWhatOthersWroteIsTextOnLivePages: texts make no element and no attribute.
func TestWhatOthersWroteIsTextOnLivePages(t *testing.T) {
	pages := func(text string) []string {
		r := &Report{
			Answer: text, Nodes: []NodeReport{{Name: text}}, Notes: []string{text}, Unjudged: []Unjudged{{Why: text}},
			Findings: []Finding{{
				Cause: cause.Cause{Code: cause.Code(text), Says: text, Owner: text, Remedy: text}, Nodes: []string{text}, Services: []string{text},
				Missing: []Rule{{Node: text, Text: text, Why: text}}, Remembered: []string{text},
				Packets: []Packet{{Packet: text, Want: text, Got: text, Ways: []string{text}, Way: []string{text}}},
			}},
		}
		m := &Matrix{
			From: []string{text}, To: []string{text}, Rows: [][]Cell{{{Answer: WhyNo, Codes: []cause.Code{cause.Code(text)}}}},
			Causes: []cause.Cause{{Code: cause.Code(text), Says: text, What: text, Remedy: text}}, Notes: []string{text},
		}
		var one, other strings.Builder
		require.NoError(t, r.WriteHTML(&one))
		require.NoError(t, m.WriteHTML(&other))
		return []string{one.String(), other.String()}
	}
	evil := pages(`</code></pre><script>alert(1)</script>" onload='x' javascript:x &lt; <img src=http://h/>`)
	for i, plain := range pages("word") {
		want, _ := tagsOf(t, plain)
		got, _ := tagsOf(t, evil[i])
		assert.Equal(t, want, got)
		assert.Contains(t, evil[i], "&lt;script&gt;alert(1)&lt;/script&gt;")
	}
}
