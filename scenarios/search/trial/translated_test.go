package trial

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A firewall of another table that drops what it does not know, and lets pass what kube-proxy has translated: services are served, and all
// packets that the specification knows fare as it says, on each node and within each sync.
func TestFirewallThatKnowsWhatIsTranslated(t *testing.T) {
	for _, accepts := range []string{
		"ct status dnat accept; ct state established,related accept",
		"ct status dnat accept",
		"ip daddr 10.244.0.0/16 ct status dnat accept; ct state established,related accept",
	} {
		report, err := Run(t.Context(), read(t, fmt.Sprintf(`name: a firewall that knows what is translated
kubeProxy: {mode: nftables}
topology: {pods: [{name: client, node: node1}], outside: [{name: neighbour, addresses: [192.168.0.99]}]}
iptables:
  preload:
  - nft: |
      table ip other {
        chain a { type filter hook forward priority 10; policy drop; %s; }
      }
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web},
   spec: {type: NodePort, clusterIP: 172.30.0.2, ports: [{port: 80, nodePort: 30080}]}}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-v4-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{port: 80}]
  endpoints: [{addresses: [10.244.1.10], nodeName: node1}, {addresses: [10.244.2.10], nodeName: node2}]
steps:
- {delete: [endpointslice default/web-v4-1]}
`, accepts)), Options{})
		require.NoError(t, err)
		assert.Empty(t, report.Violations, accepts)
		assert.Greater(t, report.Figures.Connections, 100)
	}
}
