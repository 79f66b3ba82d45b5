package trial

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/twin"
)

const serviceMoves = `
- apply:
  - {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.42, ports: [{port: 81, targetPort: 8080}]}}
  - {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}, addressType: IPv4,
     ports: [{port: 8080}], endpoints: [{addresses: [10.244.2.2], nodeName: node2}]}
`

// In whichever order nodes hear of what happened, every packet meets what its nodes know.
func TestInterleavingsHold(t *testing.T) {
	s := read(t, cluster+serviceMoves+dns("")+"\n- delete: [service web]\n")
	all := twin.Interleavings(s)
	assert.Len(t, all, 6*3, "two events of services and two of slices, and which of two nodes is behind")
	seen := map[string]bool{}
	some := race.Some(sample.Some(t, all, 4), 2)
	for _, one := range some {
		var text bytes.Buffer
		require.NoError(t, scenarios.Write(&text, one))
		seen[text.String()] = true
		report, err := Run(t.Context(), one, Options{})
		require.NoError(t, err)
		for _, f := range report.Violations {
			assert.Fail(t, f.Clause.Name, "step %d %s %v %+v\nwant %s\ngot  %s\n%s", f.Step, f.Node, f.Point, f.attempt, f.Want, f.Got, &text)
		}
	}
	assert.Len(t, seen, len(some), "each is another one")
}

func TestInterleavingsOfOneKind(t *testing.T) {
	assert.Len(t, twin.Interleavings(read(t, cluster+web(onNode1)+web(""))), 1*3, "events of one kind come in their order")
	assert.Empty(t, twin.Interleavings(read(t, cluster+strings.Repeat(web(""), 4))), "four are too many")
	assert.Empty(t, twin.Interleavings(read(t, cluster+web("")+nothing)), "time is no event")
}
