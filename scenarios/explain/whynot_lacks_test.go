package explain_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/explain/whynot"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

const aService = `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.96.0.1, selector: {app: web}, ports: [{name: http, port: 80}]}
---
`

const aPod = `
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: shop, labels: {app: web}}
---
`

// sliceWith is a slice of the service with a port of a name and one endpoint of these conditions.
func sliceWith(port, conditions string) string {
	return `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: ` + port + `, port: 8080}]
endpoints: [{addresses: [10.244.1.5], conditions: {` + conditions + `}}]
---
`
}

func TestLacks(t *testing.T) {
	for _, row := range []struct {
		name, objects string
		want          cause.Code // empty: nothing
		endpoints     int        // that a headless service's name stands for
	}{
		{"a ready endpoint", aService + sliceWith("http", "ready: true"), "", 1},
		{"an endpoint of which nobody says whether it is ready", aService + sliceWith("http", ""), "", 1},
		{"an endpoint that is not ready", aService + sliceWith("http", "ready: false"), cause.NotReady, 0},
		{"one that terminates and serves", aService + sliceWith("http", "ready: false, serving: true, terminating: true"), "", 0},
		{"one that terminates and serves no more", aService + sliceWith("http", "ready: false, serving: false, terminating: true"),
			cause.NotReady, 0},
		{"one that serves, and neither is ready nor terminates", aService + sliceWith("http", "ready: false, serving: true"), cause.NotReady, 0},
		{"another port", aService + sliceWith("metrics", "ready: true"), cause.PortName, 0},
		{"no endpoint and no pod", aService, cause.SelectsNothing, 0},
		{"no endpoint, but a pod", aService + aPod, cause.NoEndpoints, 0},
		{"no endpoint and no selector", strings.Replace(aService, "selector: {app: web}, ", "", 1), cause.NoEndpoints, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			objects, err := manifest.ReadObjects("objects.yaml", strings.NewReader(row.objects))
			require.NoError(t, err)
			service := manifest.Of[*corev1.Service](objects)[0]
			got, lacks := whynot.Lacks(objects, service, &service.Spec.Ports[0])
			assert.Equal(t, row.want != "", lacks, got.Says)
			assert.Equal(t, row.want, got.Code, got.Says)
			var want []netip.AddrPort
			if row.endpoints > 0 {
				want = []netip.AddrPort{netip.MustParseAddrPort("10.244.1.5:8080")}
			}
			assert.Equal(t, want, whynot.EndpointsOf(objects, service, &service.Spec.Ports[0]))
		})
	}
}
