package kind

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/scenarios"
)

// TestConnectionsAreMadeTogether where they come by one node, also if others are between them; those whose clients are remembered are
// made alone.
func TestConnectionsAreMadeTogether(t *testing.T) {
	session, _ := opened(t, shop)
	by := func(to, via string) scenarios.Attempt {
		a := attempt(to, "")
		a.Via = via
		return a
	}
	attempts := []scenarios.Attempt{
		by("tcp 172.30.0.41:80", "node1"), by("tcp 172.30.0.41:80", "node2"), by("tcp 172.30.0.42:53", "node1"), by("tcp 10.244.2.101:8080", ""),
		by("tcp 172.30.0.41:81", "node2"),
	}
	assert.Equal(t, [][]int{{0, 2}, {1, 4}, {3}}, session.batches(attempts))
	assert.Empty(t, session.batches(nil))

	sticky, _ := opened(t,
		shop+
			"- {apiVersion: v1, kind: Service, metadata: {name: kept}, spec: {clusterIP: 172.30.0.43, "+
			"sessionAffinity: ClientIP, ports: [{port: 80}]}}\n")
	attempts[2] = by("tcp 172.30.0.43:80", "node1")
	attempts[3] = by("tcp 172.30.0.43:80", "node1")
	assert.Equal(t, [][]int{{0}, {1, 4}, {2}, {3}}, sticky.batches(attempts))
}
