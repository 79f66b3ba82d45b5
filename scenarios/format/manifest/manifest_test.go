package manifest

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chainwalk/chainwalk/internal/document"
	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	yamlv3 "go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/yaml"
)

// TestReading runs testdata/reading/*: each input is read and either what was read or
// the errors are the output.
func TestReading(t *testing.T) {
	datadriven.Walk(t, "testdata/reading", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "objects":
				return readObjects(d.Input)
			case "config":
				return readConfig(d.Input)
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

func readObjects(input string) string {
	objects, err := ReadObjects("in.yaml", strings.NewReader(input))
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&out, "%s: %s\n", o.Pos, o.Ref())
	}
	return out.String()
}

func readConfig(input string) string {
	config, err := ReadKubeProxyConfiguration("config.yaml", strings.NewReader(input))
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("mode=%q clusterCIDR=%q syncPeriod=%s nodePortAddresses=%q", config.Mode, config.ClusterCIDR,
		config.IPTables.SyncPeriod.Duration, config.NodePortAddresses)
}

func TestDefaultsAreTheAPIServers(t *testing.T) {
	objects, err := ReadObjects("in.yaml", strings.NewReader(`
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.41, sessionAffinity: ClientIP, ports: [{port: 80}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1}, addressType: IPv4, ports: [{port: 80}], endpoints: []}
`))
	require.NoError(t, err)
	svc := objects[0].Object.(*corev1.Service)
	assert.Equal(t, "default", svc.Namespace)
	assert.Equal(t, corev1.ServiceTypeClusterIP, svc.Spec.Type)
	assert.Equal(t, corev1.ProtocolTCP, svc.Spec.Ports[0].Protocol)
	assert.Equal(t, int32(80), svc.Spec.Ports[0].TargetPort.IntVal)
	assert.Equal(t, int32(10800), *svc.Spec.SessionAffinityConfig.ClientIP.TimeoutSeconds)
	assert.Equal(t, corev1.ServiceInternalTrafficPolicyCluster, *svc.Spec.InternalTrafficPolicy)
	assert.Equal(t, []string{"172.30.0.41"}, svc.Spec.ClusterIPs)
	assert.Equal(t, []corev1.IPFamily{corev1.IPv4Protocol}, svc.Spec.IPFamilies)
	slice := objects[1].Object.(*discoveryv1.EndpointSlice)
	assert.Equal(t, "", *slice.Ports[0].Name)
	assert.Equal(t, corev1.ProtocolTCP, *slice.Ports[0].Protocol)
}

func TestAddressesOfLoadBalancersAreVIPs(t *testing.T) {
	objects, err := ReadObjects("in.yaml", strings.NewReader(`
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, clusterIP: 172.30.0.41, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: 1.2.3.4}, {ip: 1.2.3.5, ipMode: Proxy}, {hostname: lb.example}]}}
`))
	require.NoError(t, err)
	ingress := objects[0].Object.(*corev1.Service).Status.LoadBalancer.Ingress
	assert.Equal(t, corev1.LoadBalancerIPModeVIP, *ingress[0].IPMode)
	assert.Equal(t, corev1.LoadBalancerIPModeProxy, *ingress[1].IPMode)
	assert.Nil(t, ingress[2].IPMode, "there is no address")
	plain, err := objects[0].Plain()
	require.NoError(t, err)
	text, err := yamlv3.Marshal(plain)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "VIP", "it is filled in again")
	assert.Contains(t, string(text), "Proxy")
}

// TestDecodesAsTheAPIMachineryDoes holds the node decoder to the decoder that
// Kubernetes itself uses, on objects with most of the fields there are.
func TestDecodesAsTheAPIMachineryDoes(t *testing.T) {
	data, err := os.ReadFile("testdata/pod.yaml")
	require.NoError(t, err)
	var want, got corev1.Pod
	require.NoError(t, yaml.UnmarshalStrict(data, &want))
	docs, err := document.Parse("pod.yaml", bytes.NewReader(data))
	require.NoError(t, err)
	require.NoError(t, document.Decode(docs[0], &got))
	assert.Equal(t, want, got)
}

func TestParseRef(t *testing.T) {
	for _, row := range []struct{ name, in, want, err string }{
		{name: "namespace and name", in: "service shop/web", want: "service shop/web"},
		{name: "namespace left out", in: "EndpointSlice web-1", want: "endpointslice default/web-1"},
		{name: "kind without namespaces", in: "node node1", want: "node node1"},
		{name: "unknown kind", in: "ingress web",
			err: "want KIND NAMESPACE/NAME with a kind of ConfigMap, EndpointSlice, Namespace, NetworkPolicy, Node, Pod, Service, ServiceCIDR"},
		{name: "no name", in: "service", err: "want KIND NAMESPACE/NAME"},
		{name: "empty name", in: "service shop/", err: "no valid name"},
	} {
		t.Run(row.name, func(t *testing.T) {
			ref, err := ParseRef(row.in)
			if row.err != "" {
				require.ErrorContains(t, err, row.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, row.want, ref.String())
		})
	}
}

func TestAbsurdInputIsRefusedAtOnce(t *testing.T) {
	for _, row := range []struct{ name, in, want string }{
		{"a line of 8 MiB", "a: " + strings.Repeat("x", 8<<20), "in.yaml:1:1048577: the line is longer than 1 MiB (is this a manifest?)"},
		{"more than 128 MiB", strings.Repeat("# comment\n", 14<<20), "in.yaml: more than 128 MiB of input (split it into several files)"},
		{"deep nesting", strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "want a Kubernetes object, got a list"},
		{"nesting deeper than the parser goes", strings.Repeat("[", 50000), "not YAML: exceeded max depth of 10000"},
		{"deep nesting in a field", "{apiVersion: v1, kind: Pod, metadata: {managedFields: [{fieldsV1: " +
			strings.Repeat("{a: ", 5000) + "1" + strings.Repeat("}", 5001) + "]}}", "nested deeper than 100 levels"},
		{"aliases that multiply", aliasBomb(), "aliases expand to more than 100000 values"},
		{"an alias inside itself", "apiVersion: v1\nkind: Pod\nmetadata: {managedFields: [{fieldsV1: &a [*a]}]}",
			"nested deeper than 100 levels"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := ReadObjects("in.yaml", strings.NewReader(row.in))
			require.ErrorContains(t, err, row.want)
		})
	}
}

func aliasBomb() string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Pod\nmetadata:\n  managedFields:\n  - fieldsV1:\n      a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		fmt.Fprintf(&b, "      a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	return b.String()
}

func TestAtMostTwentyErrors(t *testing.T) {
	_, err := ReadObjects("in.yaml", strings.NewReader("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"+
		"spec:\n"+strings.Repeat("  # a line\n", 3)+manyUnknownFields(50)))
	var errs document.Errors
	require.ErrorAs(t, err, &errs)
	assert.Len(t, errs, 20)
	assert.Equal(t, 8, errs[0].Line)
}

func manyUnknownFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  unknown%d: 1\n", i)
	}
	return b.String()
}

func FuzzReadObjects(f *testing.F) {
	f.Add([]byte("apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n"))
	f.Add([]byte("{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": []}"))
	f.Add([]byte("a: &a [*a]\n---\n- b\n"))
	f.Add(
		[]byte(
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {new: 1}}\n"))
	f.Add([]byte("apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\niptables: {syncPeriod: 30s}\n"))
	pod, err := os.ReadFile("testdata/pod.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(pod)
	f.Fuzz(func(t *testing.T, data []byte) {
		objects, objectsErr := ReadObjects("in", bytes.NewReader(data))
		known, knownErr := ReadKnownObjects("in", bytes.NewReader(data), func(document.Position, string) {})
		if objectsErr == nil && (knownErr != nil || len(known) != len(objects)) {
			t.Errorf("what is known is read otherwise where unknown things are passed over: %v", knownErr)
		}
		_, configErr := ReadKubeProxyConfiguration("in", bytes.NewReader(data))
		if objectsErr == nil && configErr == nil {
			t.Error("the same text is both objects and a configuration")
		}
		for _, err := range []error{objectsErr, configErr} {
			if err != nil && !strings.HasPrefix(err.Error(), "in:") {
				t.Errorf("no position: %v", err)
			}
		}
	})
}
