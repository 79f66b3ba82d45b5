package scenarios_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/format/mistake"
)

// BenchmarkInObjects looks at services with a slice each. The time for a service should hardly grow.
func BenchmarkInObjects(b *testing.B) {
	for _, services := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			var text strings.Builder
			for i := range services {
				fmt.Fprintf(&text, `
- {apiVersion: v1, kind: Service, metadata: {name: s%d}, spec: {clusterIP: 172.30.%d.%d, ports: [{port: 80}]}}
- {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: s%[1]d-1, labels: {kubernetes.io/service-name: s%[1]d}},
   addressType: IPv4, ports: [{port: 80}], endpoints: [{addresses: [10.244.1.2]}]}`, i, i>>8, i&255)
			}
			objects, err := manifest.ReadObjects("in.yaml", strings.NewReader("apiVersion: v1\nkind: List\nitems:"+text.String()))
			require.NoError(b, err)
			for b.Loop() {
				require.Empty(b, mistake.InObjects(objects))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*services), "ns/service")
		})
	}
}
