package cluster

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"
)

// variable is the environment variable that allows a test to make a cluster, and binaryVariable the path of chainwalk's static binary for it.
const (
	variable       = "CHAINWALK_KIND"
	binaryVariable = "CHAINWALK_BINARY"
)

// need skips a test that was not asked to make a cluster, and says what one lacks that was.
func need(t *testing.T) (binary string) {
	t.Helper()
	switch asked := os.Getenv(variable); asked {
	case "":
		t.Skipf("set %s=1, and %s to the path of a static chainwalk, to make a kind cluster with Docker", variable, binaryVariable)
	case "1":
	default:
		t.Fatalf("%s is %q: want 1 to make a kind cluster, or nothing to skip its tests", variable, asked)
	}
	binary = os.Getenv(binaryVariable)
	require.NotEmpty(t, binary, "%s=1 forbids to skip: set %s to the path of a static chainwalk", variable, binaryVariable)
	return binary
}

// step runs a part of a test, and tells how long it took.
func step(t *testing.T, what string, do func() error) {
	t.Helper()
	begin := time.Now()
	require.NoError(t, do(), what)
	t.Logf("%s: %.2fs", what, time.Since(begin).Seconds())
}

func TestClusterOnDocker(t *testing.T) {
	config := Config{
		Name: "cwtest", Binary: need(t), Image: os.Getenv("NODE_IMAGE"), Pool: 2, Progress: t.Output(),
	}
	ctx := t.Context()
	var c *Cluster
	step(t, "start", func() (err error) {
		c, err = Start(ctx, config)
		return err
	})
	defer func() { step(t, "close", func() error { return c.Close(ctx) }) }()

	require.Len(t, c.Nodes(), 3)
	for _, node := range c.Nodes() {
		assert.Len(t, node.PodCIDRs, 2)
		text, err := c.Metrics(ctx, node.Name)
		require.NoError(t, err)
		assert.Contains(t, string(text), "kubeproxy_sync_proxy_rules_duration_seconds")
	}
	assert.Len(t, c.Pods(), 6)
	all := map[string]*kubeproxy.KubeProxyConfiguration{}
	for _, node := range c.Nodes() {
		all[node.Name] = &kubeproxy.KubeProxyConfiguration{ClusterCIDR: podsIPv4}
	}
	step(t, "configure three nodes", func() error { return c.Configure(ctx, all) })
	step(t, "configure none", func() error { return c.Configure(ctx, all) })
	one := map[string]*kubeproxy.KubeProxyConfiguration{c.Nodes()[1].Name: {}}
	step(t, "configure one node", func() error { return c.Configure(ctx, one) })
	step(t, "restart three proxies", func() error { return c.RestartProxy(ctx, c.nodeNames()) })
	step(t, "replace three proxies", func() error { return c.ReplaceProxy(ctx, c.nodeNames()) })
	step(t, "export", func() error { return c.Export(ctx, t.TempDir()) })
	_, err := c.Client().CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=" + string(corev1.PodRunning)})
	require.NoError(t, err)
}
