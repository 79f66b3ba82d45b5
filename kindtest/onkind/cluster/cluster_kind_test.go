package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/kindtest/onkind/nodeimage"
	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// variable is the environment variable that allows a test to make a cluster, and binaryVariable the path of chainwalk's static binary for
// it.
const (
	variable       = "CHAINWALK_KIND"
	binaryVariable = "CHAINWALK_BINARY"
)

// need skips a test that was not asked to make a cluster, and says what one lacks that was.
func need(t *testing.T) Config {
	t.Helper()
	switch asked := os.Getenv(variable); asked {
	case "":
		t.Skipf("set %s=1, and %s to the path of a static chainwalk, to make a kind cluster with Docker", variable, binaryVariable)
	case "1":
	default:
		t.Fatalf("%s is %q: want 1 to make a kind cluster, or nothing to skip its tests", variable, asked)
	}
	binary := os.Getenv(binaryVariable)
	require.NotEmpty(t, binary, "%s=1 forbids to skip: set %s to the path of a static chainwalk", variable, binaryVariable)
	image := os.Getenv("NODE_IMAGE")
	if image == "" {
		image = nodeimage.Tag
	}
	return Config{Name: "cluster-test", Binary: binary, Image: image, Pool: 2, Progress: t.Output()}
}

// step runs a part of a test, and tells how long it took.
func step(t *testing.T, what string, do func() error) {
	t.Helper()
	begin := time.Now()
	require.NoError(t, do(), what)
	t.Logf("%s: %.2fs", what, time.Since(begin).Seconds())
}

// started starts a cluster, which goes away with the test unless it is kept.
func started(t *testing.T, config Config) *Cluster {
	t.Helper()
	var c *Cluster
	step(t, "start", func() (err error) {
		c, err = Start(t.Context(), config)
		return err
	})
	t.Cleanup(func() { step(t, "close", func() error { return c.Close(context.Background()) }) })
	return c
}

// asker is a client of a host's relay.
func asker(t *testing.T, c *Cluster, host string) *probe.Client {
	t.Helper()
	relay, err := c.Relay(t.Context(), host)
	require.NoError(t, err)
	client := probe.NewClient(relay)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// TestClusterWithNFT makes a cluster, uses it, leaves it, and takes it over with another proxy.
func TestClusterWithNFT(t *testing.T) {
	config := need(t)
	c := started(t, config)
	require.Len(t, c.Nodes(), 4)
	require.Len(t, c.Pods(), 8)
	t.Run("everybody reaches everybody's pods", func(t *testing.T) { everybodyReachesPods(t, c) })
	t.Run("only one variant has rules", func(t *testing.T) { onlyOneVariantHasRules(t, c, "nft", "legacy") })
	t.Run("the proxy is configured and restarted", func(t *testing.T) { configure(t, c) })
	t.Run("everything is exported", func(t *testing.T) { export(t, c) })
	t.Run("a cluster of the name is not made twice", func(t *testing.T) {
		_, err := Start(t.Context(), config)
		assert.ErrorContains(t, err, "use it with CLUSTER=cluster-test, or delete it with `make kind-remove CLUSTER=cluster-test`")
	})
	t.Run("kube-proxy takes over", func(t *testing.T) {
		other := config
		other.Existing = true
		other.Proxy = Proxy{Name: KubeProxy, Mode: "nftables", Binary: kubeProxyBinary(t)}
		second := started(t, other)
		save, err := in(t.Context(), second.Nodes()[1].Name, "iptables-save; nft list tables")
		require.NoError(t, err)
		assert.NotContains(t, save, "KUBE-SERVICES", "chainwalk's rules are still there")
		assert.Contains(t, save, "table ip kube-proxy")
		configure(t, second)
	})
}

func TestClusterWithLegacy(t *testing.T) {
	config := need(t)
	config.Dialect, config.Family = netfilter.Legacy, scenarios.FamilyIPv6
	config.Proxy = Proxy{Name: KubeProxy, Binary: kubeProxyBinary(t)}
	c := started(t, config)
	everybodyReachesPods(t, c)
	onlyOneVariantHasRules(t, c, "legacy", "nft")
	configure(t, c)
}

// Docker's rules for DNS, which are in a container from its start, go from one variant to the other, and none stays behind.
func TestToolTakesDockersRulesAlong(t *testing.T) {
	const host = "cluster-test-tool"
	image := need(t).Image
	_, err := docker(t.Context(), "network", "create", host)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := docker(context.Background(), "rm", "--force", "--volumes", host)
		assert.NoError(t, err)
		_, err = docker(context.Background(), "network", "rm", host)
		assert.NoError(t, err)
	})
	_, err = docker(t.Context(), "run", "--detach", "--privileged", "--network", host, "--name", host, "--entrypoint", "/usr/bin/sleep", image,
		"infinity")
	require.NoError(t, err)
	for _, tool := range []string{"legacy", "nft", "nft", "legacy"} {
		_, err := in(t.Context(), host, toolScript, tool)
		require.NoError(t, err)
		chosen, err := in(t.Context(), host, "iptables-save")
		require.NoError(t, err)
		assert.Equal(t, 2, strings.Count(chosen, "-j DNAT"), chosen)
		both, err := in(t.Context(), host, "iptables-nft-save; iptables-legacy-save")
		require.NoError(t, err)
		assert.Equal(t, 2, strings.Count(both, "-j DNAT"), both)
		place, err := in(t.Context(), host, "readlink -f /usr/sbin/iptables /usr/sbin/ip6tables")
		require.NoError(t, err)
		assert.Equal(t, strings.Repeat("/usr/sbin/xtables-"+tool+"-multi\n", 2), place)
	}
}

// kubeProxyBinary is the one that make kind-binaries builds.
func kubeProxyBinary(t *testing.T) string {
	path := os.Getenv("KUBE_PROXY_BINARY")
	require.NotEmpty(t, path, "set KUBE_PROXY_BINARY to the path of a static kube-proxy (make kind-binaries)")
	return path
}

// What ends while a cluster is being made leaves nothing behind.
func TestEndedStartLeavesNothing(t *testing.T) {
	config := need(t)
	for _, at := range []string{"nodes made", "control plane started"} {
		t.Run(at, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			interrupted := errors.New("interrupted")
			config.Progress = &trigger{to: t.Output(), at: at, do: func() { cancel(interrupted) }}
			_, err := Start(ctx, config)
			require.ErrorIs(t, err, interrupted)
			left, err := docker(t.Context(), "ps", "--all", "--quiet", "--filter", "name="+config.Name)
			require.NoError(t, err)
			assert.Empty(t, left)
		})
	}
}

// trigger does something when a line has been told.
type trigger struct {
	to io.Writer
	at string
	do func()
}

func (w *trigger) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(w.at)) {
		w.do()
	}
	return w.to.Write(p)
}

func everybodyReachesPods(t *testing.T, c *Cluster) {
	clients := map[string]*probe.Client{}
	callers := map[string][]string{c.Outside().Name: {c.Outside().Name}}
	for _, node := range c.Nodes() {
		callers[node.Name] = []string{node.Name}
	}
	for _, pod := range c.Pods() {
		callers[pod.Node] = append(callers[pod.Node], pod.Name)
	}
	for host := range callers {
		clients[host] = asker(t, c, host)
	}
	for _, pod := range c.Pods() {
		for _, address := range pod.Addresses {
			listener := probe.Listener{Proto: inet.TCP, Addr: address, Port: 8080}
			require.NoError(t, clients[pod.Node].Serve(t.Context(), pod.Name, []probe.Listener{listener}))
			for host, agents := range callers {
				for _, agent := range agents {
					dial := probe.Dial{Proto: inet.TCP, To: netip.AddrPortFrom(address, 8080), Timeout: 5 * time.Second}
					results, err := clients[host].Dial(t.Context(), agent, dial)
					require.NoError(t, err)
					assert.Equal(t, pod.Name, results[0].Server, "from %s to %s: %+v", agent, address, results[0])
				}
			}
		}
	}
}

func onlyOneVariantHasRules(t *testing.T, c *Cluster, variant, other string) {
	for _, node := range c.Nodes() {
		for _, command := range []string{"iptables", "ip6tables"} {
			save, err := in(t.Context(), node.Name, command+"-"+variant+"-save")
			require.NoError(t, err)
			assert.Contains(t, save, "-A KUBE-", "%s: %s", node.Name, command)
			save, err = in(t.Context(), node.Name, command+"-"+other+"-save")
			require.NoError(t, err)
			assert.NotContains(t, save, "-A ", "%s: %s", node.Name, command)
		}
	}
}

func configure(t *testing.T, c *Cluster) {
	ctx := t.Context()
	all := map[string]*kubeproxy.KubeProxyConfiguration{}
	for _, node := range c.Nodes() {
		all[node.Name] = &kubeproxy.KubeProxyConfiguration{ClusterCIDR: podsIPv4}
	}
	if c.Nodes()[0].Addresses[0].Is6() {
		all[c.Nodes()[0].Name].ClusterCIDR = podsIPv6
	}
	first, second := c.Nodes()[1].Name, c.Nodes()[2].Name
	before := c.processes(t)
	step(t, "configure all nodes", func() error { return c.Configure(ctx, all) })
	middle := c.processes(t)
	step(t, "configure none", func() error { return c.Configure(ctx, all) })
	assert.Equal(t, middle, c.processes(t))
	one := map[string]*kubeproxy.KubeProxyConfiguration{first: {ClusterCIDR: "fd00:10:244::/57"}}
	step(t, "configure one node", func() error { return c.Configure(ctx, one) })
	after := c.processes(t)
	assert.NotEqual(t, before[first].started, middle[first].started)
	assert.NotEqual(t, middle[first].started, after[first].started)
	assert.Equal(t, middle[second].started, after[second].started, "a proxy whose configuration stays is not restarted")
	step(t, "restart three proxies", func() error { return c.RestartProxy(ctx, c.nodeNames()) })
	step(t, "replace one proxy", func() error { return c.ReplaceProxy(ctx, []string{first}) })
	assert.ErrorContains(t, c.RestartProxy(ctx, []string{"nobody"}), "there is no node nobody")
}

func (c *Cluster) processes(t *testing.T) map[string]process {
	found := map[string]process{}
	for _, node := range c.nodeNames() {
		var err error
		found[node], err = c.processOf(t.Context(), node, c.files[node].metricsPort)
		require.NoError(t, err)
	}
	return found
}

func export(t *testing.T, c *Cluster) {
	folder := t.TempDir()
	step(t, "export", func() error { return c.Export(t.Context(), folder) })
	for _, node := range c.nodeNames() {
		for file, want := range map[string]string{"snapshot.yaml": "KUBE-SERVICES", "metrics.txt": "kubeproxy_sync_proxy",
			"proxy.log": "chainwalk"} {
			content, err := os.ReadFile(filepath.Join(folder, node+"."+file))
			require.NoError(t, err)
			assert.True(t, strings.Contains(string(content), want), "%s of %s has no %s", file, node, want)
		}
		assert.FileExists(t, filepath.Join(folder, "kind", node, "kubelet.log"))
	}
	objects, err := os.ReadFile(filepath.Join(folder, "objects.yaml"))
	require.NoError(t, err)
	for _, kind := range []string{"NodeList", "ServiceList", "EndpointSliceList", "PodList", "ConfigMapList", "EventList"} {
		assert.Contains(t, string(objects), "kind: "+kind+"\n")
	}
}
