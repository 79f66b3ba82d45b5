package oracle_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// closed is a node of judgedState with a chain of policy DROP.
func closed(node int, f oracle.Filter) *oracle.Spec {
	return judgedState(func(c *oracle.Cluster) { c.Nodes[node].Filter[0] = f })
}

// TestPoliciesOfOthers says which endpoints packets reach past chains of policy DROP, and where the others end.
func TestPoliciesOfOthers(t *testing.T) {
	nothing := []oracle.Pass{{Nothing: true}}
	fromPods := []oracle.Pass{{From: netip.MustParsePrefix("10.244.0.0/16")}}
	fromNode := webAttempt
	fromNode.From = "node1"
	for _, row := range []struct {
		name    string
		spec    *oracle.Spec
		attempt oracle.Attempt
		want    []string // the node that stops a packet to each endpoint
	}{
		{"a pod keeps its source", closed(0, oracle.Filter{Forward: nothing}), webAttempt, []string{"node1", "node1", "node1"}},
		{"a rule for pods", closed(0, oracle.Filter{Forward: fromPods}), webAttempt, []string{"", "", ""}},
		{"the endpoint's node", closed(1, oracle.Filter{Forward: nothing}), webAttempt, []string{"", "node2", ""}},
		{"the node itself sends", closed(0, oracle.Filter{Forward: nothing, Input: nothing}), fromNode, []string{"", "", ""}},
		{"its packet has another source", closed(1, oracle.Filter{Forward: fromPods}), fromNode, []string{"", "node2", ""}},
	} {
		t.Run(row.name, func(t *testing.T) {
			answer := row.spec.Expect(row.attempt)
			var stops []string
			for i := range answer.Endpoints {
				node := ""
				if at, end := answer.At(i); end == oracle.Dropped {
					node = at
				}
				stops = append(stops, node)
			}
			assert.Equal(t, row.want, stops)
		})
	}
}

// TestJudgeOfPolicies holds ways to a FORWARD chain of policy DROP on the first node.
func TestJudgeOfPolicies(t *testing.T) {
	s := closed(0, oracle.Filter{Forward: []oracle.Pass{{Nothing: true}}})
	dropped := thirds()
	for i := range dropped {
		dropped[i].End, dropped[i].Host, dropped[i].Heard = oracle.Dropped, "node1", false
	}
	assert.Empty(t, broken(s.Judge(webAttempt, dropped)))
	assert.Equal(t, "dropped-by-policy", broken(s.Judge(webAttempt, thirds())), "nobody has opened the chain")

	toPod := oracle.Attempt{From: "10.244.1.3", Protocol: corev1.ProtocolTCP, To: netip.MustParseAddrPort("10.244.2.3:80")}
	way := dropped[0]
	way.Server = toPod.To
	assert.Empty(t, broken(s.Judge(toPod, []oracle.Way{way})))
	way.End, way.Host, way.Heard = oracle.Delivered, "10.244.2.3", true
	assert.Equal(t, "dropped-by-policy", broken(s.Judge(toPod, []oracle.Way{way})))
}

// TestMasqueradedPassesForward wants what is masqueraded to pass.
func TestMasqueradedPassesForward(t *testing.T) {
	s := judgedState(func(c *oracle.Cluster) {
		c.Nodes[0].Filter[0].Forward = []oracle.Pass{{Nothing: true}}
		c.Nodes[0].Config.IPTables.MasqueradeAll = true
	})
	masqueraded := thirds()
	for i := range masqueraded {
		masqueraded[i].Client = netip.MustParseAddrPort("192.168.0.2:1024")
	}
	assert.Empty(t, broken(s.Judge(webAttempt, masqueraded)))
	masqueraded[0].End, masqueraded[0].Host = oracle.Dropped, "node1"
	assert.Equal(t, "passes-forward-policy", broken(s.Judge(webAttempt, masqueraded)))
}

// TestStrays lets a packet that belongs to no connection pass where conntrack is liberal, and nowhere else for certain.
func TestStrays(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*oracle.Node)
		end    oracle.End
		want   string
	}{
		{"liberal", func(n *oracle.Node) { n.Liberal = true }, oracle.Delivered, ""},
		{"liberal and dropped", func(n *oracle.Node) { n.Liberal = true }, oracle.Dropped, "stray-packet-passes"},
		{"not liberal", func(*oracle.Node) {}, oracle.Dropped, ""},
		{"a policy of others", func(n *oracle.Node) { n.Filter[0].Forward = []oracle.Pass{{Nothing: true}} }, oracle.Dropped, ""},
		{"a policy of others opened", func(n *oracle.Node) { n.Filter[0].Forward = []oracle.Pass{{Nothing: true}} }, oracle.Delivered,
			"dropped-by-policy"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := judgedState(func(c *oracle.Cluster) { row.change(&c.Nodes[0]) })
			p := s.Strays()[0]
			assert.Equal(t, "node1", p.Node)
			assert.Equal(t, row.want,
				broken(s.JudgeStray(p, []oracle.Way{{Probability: 1, End: row.end, Sender: p.Source, Client: p.Source, Server: p.Received}})))
		})
	}
}

// TestTheMarkChangesWithinASync lets a FORWARD chain drop what was masqueraded before, where the table filter knows the new mark already
// and nat has the old one, also if the service is refused in the end; and not if the mark stays.
func TestTheMarkChangesWithinASync(t *testing.T) {
	state := func(bit int32, change func(*oracle.Cluster)) *oracle.Spec {
		return judgedState(func(c *oracle.Cluster) {
			c.Nodes[0].Filter[0].Forward = []oracle.Pass{{Nothing: true}}
			c.Nodes[0].Config.IPTables.MasqueradeAll, c.Nodes[0].Config.IPTables.MasqueradeBit = true, &bit
			change(c)
		})
	}
	served := func(*oracle.Cluster) {}
	unserved := func(c *oracle.Cluster) { c.Slices[0].Endpoints = nil }
	dropped := thirds()
	for i := range dropped {
		dropped[i].End, dropped[i].Host, dropped[i].Heard = oracle.Dropped, "node1", false
		dropped[i].Client = netip.MustParseAddrPort("192.168.0.2:1024")
	}
	gone := func(c *oracle.Cluster) { c.Services = c.Services[1:] }
	before := state(14, served)
	assert.Empty(t, broken(before.Between(state(15, gone), webAttempt, dropped)))
	assert.Empty(t, broken(before.Between(state(15, served), webAttempt, dropped)))
	assert.Empty(t, broken(before.Between(state(15, unserved), webAttempt, dropped)))
	assert.Equal(t, "before-or-after", broken(before.Between(state(14, served), webAttempt, dropped)))
}
