package scenarios

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

// selecting is a service whose slices are made of a pod in the node's own network.
const selecting = `
name: a
iptables: {tools: [legacy]}
objects:
- {apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: web}}, spec: {nodeName: node1}, status: {podIP: 192.168.1.1}}
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.41, selector: {app: web}, ports: [{port: 80}]}}
steps: [{advance: 1s}]
`

// controlled is a backend that has a controller.
type controlled struct{ canned }

func (*controlled) SliceController(ever []manifest.Object) manifest.SliceController {
	return controller.New(ever)
}

func derived(c *Cluster) (names []string) {
	for _, o := range c.Objects {
		if o.Derived {
			names = append(names, o.Meta().GetName())
		}
	}
	return names
}

func TestSlicesAreMadeByWhoeverHasAController(t *testing.T) {
	alone, err := Read("in.yaml", strings.NewReader(selecting))
	require.NoError(t, err)
	_, err = Resolve(alone)
	const refused = "in.yaml:2:1: services select pods, whose EndpointSlices a controller makes, and "
	require.ErrorContains(t, err, refused+"nobody has given a controller")
	result := Run(t.Context(), alone, &canned{})
	require.True(t, result.Failed())
	assert.Contains(t, result.Checks[0].Wrong, refused+"the backend sim has none")

	with := &controlled{}
	Run(t.Context(), alone, with)
	assert.Equal(t, []string{"web-ipv4-1"}, derived(with.cluster))
	c, err := ResolveWith(alone, controller.New)
	require.NoError(t, err)
	assert.Equal(t, []string{"web-ipv4-1"}, derived(c))

	read, err := (&Loader{Controller: controller.New}).Read("in.yaml", strings.NewReader(selecting))
	require.NoError(t, err)
	c, err = Resolve(read)
	require.NoError(t, err)
	assert.Equal(t, []string{"web-ipv4-1"}, derived(c))
}
