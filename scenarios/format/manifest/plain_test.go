package manifest

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	yamlv3 "go.yaml.in/yaml/v3"
)

// TestPlainLeavesOutWhatReadingBackFillsIn holds the quick way, by the defaults, to the slow one, which reads each object back again and
// again.
func TestPlainLeavesOutWhatReadingBackFillsIn(t *testing.T) {
	pod, err := os.ReadFile("testdata/pod.yaml")
	require.NoError(t, err)
	for _, text := range []string{
		string(pod),
		"{apiVersion: v1, kind: Service, metadata: {name: a, labels: {type: x, namespace: y}}, " +
			"spec: {clusterIP: 172.30.0.41, ports: [{port: 80}]}}",
		`{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop}, spec: {clusterIP: None, sessionAffinity: ClientIP,
  ports: [{name: one, port: 80, targetPort: 80}, {name: two, port: 81, protocol: UDP, targetPort: web}]}}`,
		`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: NodePort, clusterIP: "fd00::1", clusterIPs: ["fd00::1", 10.0.0.1],
  sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 10800}}, ports: [{port: 80, nodePort: 30080}]}}`,
		`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: LoadBalancer, clusterIP: 10.0.0.1, externalTrafficPolicy: Local,
  internalTrafficPolicy: Local, ports: [{port: 80}]}, status: {loadBalancer: {ingress: [{ip: 1.2.3.4}, {ip: 1.2.3.5, ipMode: Proxy}]}}}`,
		`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: ExternalName, externalName: b.example}}`,
		`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a, labels: {kubernetes.io/service-name: a}}, addressType: IPv4,
  ports: [{port: 80}, {name: b, port: 81, protocol: UDP}], endpoints: [{addresses: [10.1.0.1], conditions: {ready: false}}]}`,
		`{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}, spec: {podSelector: {}, ingress: [{ports: [{port: 80}]}]}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {volumes: [{name: v, emptyDir: {}}],
  containers: [{name: c, image: i, ports: [{containerPort: 80}]}]}, status: {podIP: 10.1.0.1}}`,
		`{apiVersion: v1, kind: Node, metadata: {name: a}, status: {addresses: [{type: InternalIP, address: 192.168.0.2}]}}`,
		`{apiVersion: v1, kind: Namespace, metadata: {name: a}}`,
	} {
		objects, err := ReadObjects("in.yaml", strings.NewReader(text))
		require.NoError(t, err)
		require.Len(t, objects, 1)
		before := objects[0].DeepCopyObject()
		plain, err := objects[0].Plain()
		require.NoError(t, err)
		slow, err := objects[0].plainReadBack()
		require.NoError(t, err)
		assert.Equal(t, yamlOf(t, slow), yamlOf(t, plain))
		assert.Equal(t, before, objects[0].Object, "the object itself is left alone")
	}
}

func yamlOf(t *testing.T, n *yamlv3.Node) string {
	t.Helper()
	text, err := yamlv3.Marshal(n)
	require.NoError(t, err)
	return string(text)
}
