package story

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// twoWays is a Service of two endpoints.
func twoWays() *Story {
	came := Header{Proto: inet.TCP, Src: netip.MustParseAddrPort("10.0.0.2:40000"), Dst: netip.MustParseAddrPort("10.96.0.1:80")}
	s := &Story{Packet: "tcp 10.0.0.2:40000 > 10.96.0.1:80", Sentence: "shop/web -> 2 endpoints"}
	for i, server := range []string{"10.244.1.2:8080", "10.244.1.3:8080"} {
		after := came
		after.Dst, after.DstName = netip.MustParseAddrPort(server), "pod web"
		s.Outcomes = append(s.Outcomes, Outcome{Probability: 0.5, Decided: &Place{0, 4}, Passages: []Passage{{
			Direction: There, Host: "worker", Role: Node, Came: came, In: "eth0", Left: after, Result: "forwarded by eth1",
			Lines: []Line{
				{Kind: Policy, At: "mangle:PREROUTING:policy:1"},
				{Hook: "PREROUTING", Kind: Rule, At: "nat:PREROUTING:rule:1"},
				{Hook: "PREROUTING", Kind: Rule, At: "nat:KUBE-SERVICES:rule:2", Object: "service shop/web"},
				{Hook: "PREROUTING", Kind: Rule, At: "nat:KUBE-SVC-AAAAAAAAAAAAAAAA:rule:1", Object: "service shop/web"},
				{Hook: "PREROUTING", Kind: Rule, At: fmt.Sprintf("nat:KUBE-SEP-AAAAAAAAAAAAAAA%c:rule:1", 'A'+i), Object: "pod web"},
				{Hook: "PREROUTING", Kind: Rewrite, After: &after},
			},
		}}})
	}
	return s
}

func mermaidOf(t *testing.T, s *Story) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, s.WriteMermaid(&b))
	return b.String()
}

func TestMermaidBranchesWhereOutcomesDiffer(t *testing.T) {
	assert.Equal(t, `flowchart TD
  n1["tcp 10.0.0.2:40000 > 10.96.0.1:80<br>shop/web -> 2 endpoints"]
  n2["there: node worker, in eth0<br>PREROUTING: service shop/web"]
  n3["PREROUTING: pod web, by a rule of nat KUBE-SEP<br>destination becomes 10.244.1.2:8080 (pod web)<br>forwarded by eth1"]:::decided
  n2 -->|50 %| n3
  n4["PREROUTING: pod web, by a rule of nat KUBE-SEP<br>destination becomes 10.244.1.3:8080 (pod web)<br>forwarded by eth1"]:::decided
  n2 -->|50 %| n4
  n1 --> n2
  classDef decided stroke-width:3px
`, mermaidOf(t, twoWays()))
}

func TestMermaidShowsRulesWithoutNamesWhereNoneHasOne(t *testing.T) {
	s := twoWays()
	for i := range s.Outcomes {
		for j := range s.Outcomes[i].Passages[0].Lines {
			s.Outcomes[i].Passages[0].Lines[j].Object = ""
		}
	}
	assert.Contains(t, mermaidOf(t, s), "in eth0<br>PREROUTING: nat PREROUTING rule 1<br>PREROUTING: nat KUBE-SERVICES rule 2"+
		"<br>PREROUTING: nat KUBE-SVC rule 1\"]")
	assert.NotRegexp(t, "KUBE-[A-Z]+-A", mermaidOf(t, s), "a hash")
}

// TestMermaidEscapes: what others wrote is text in the diagram and in the page that it is drawn in.
func TestMermaidEscapes(t *testing.T) {
	s := twoWays()
	s.Sentence = "\"]\nn9[x]; click n1 call <script>alert(1)</script> %%{init: {}}%% `#35;` &lt;\u2028"
	first := strings.Split(mermaidOf(t, s), "\n")[1]
	assert.Equal(t, `  n1["tcp 10.0.0.2:40000 > 10.96.0.1:80<br>#34;] n9[x]#59; click n1 call #60;script>alert(1)#60;/script> `+
		`#37;#37;#123;init: #123;#125;#125;#37;#37; #96;#35;35#59;#96; #38;lt#59; "]`, first)
}

func TestMermaidHasRoomForTwelveOutcomes(t *testing.T) {
	s := twoWays()
	for len(s.Outcomes) < 40 {
		s.Outcomes = append(s.Outcomes, s.Outcomes[0])
	}
	text := mermaidOf(t, s)
	assert.Contains(t, text, `["28 more outcomes"]`)
}
