package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/chainwalk/chainwalk/cmd/chainwalk/internal/proxyflags"
	"github.com/chainwalk/chainwalk/internal/freeport"
)

const proxyObjects = `apiVersion: v1
kind: Node
metadata: {name: worker1, labels: {topology.kubernetes.io/zone: a}}
status: {addresses: [{type: InternalIP, address: 192.168.0.2}, {type: InternalIP, address: "fd00::2"}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec:
  type: LoadBalancer
  clusterIPs: [172.30.0.41]
  clusterIP: 172.30.0.41
  externalTrafficPolicy: Local
  healthCheckNodePort: %d
  ports: [{port: 80, nodePort: 30080}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: default, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.244.1.2], nodeName: worker1}, {addresses: [10.244.2.2], nodeName: worker2}]
`

// lockedWriter may be written to while it is read.
type lockedWriter struct {
	lock   sync.Mutex
	buffer bytes.Buffer
}

func (w *lockedWriter) Write(b []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.buffer.Write(b)
}

func (w *lockedWriter) String() string {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.buffer.String()
}

// proxyRun is a "chainwalk proxy" in this process.
type proxyRun struct {
	objects         string
	healthz, metric string
	check           int
	log             lockedWriter
	stop            context.CancelFunc
	done            chan error
}

// startProxy runs a proxy on the fake kernel of a folder of its own and the objects of a file.
func startProxy(t *testing.T, args ...string) *proxyRun {
	r := newProxyRun(t)
	r.objects = filepath.Join(t.TempDir(), "objects.yaml")
	require.NoError(t, os.WriteFile(r.objects, fmt.Appendf(nil, proxyObjects, r.check), 0o600))
	r.start(t, append([]string{"--fake", "-f", r.objects}, args...)...)
	return r
}

// newProxyRun is a proxy that has not started, with a folder for the fake kernel and ports of its own.
func newProxyRun(t *testing.T) *proxyRun {
	t.Setenv("CHAINWALK_STATE", t.TempDir())
	r := &proxyRun{check: freeport.New(t), done: make(chan error, 1)}
	r.healthz, r.metric = fmt.Sprintf("127.0.0.1:%d", freeport.New(t)), fmt.Sprintf("127.0.0.1:%d", freeport.New(t))
	return r
}

func (r *proxyRun) start(t *testing.T, args ...string) {
	r.startArgs(t, append([]string{"--hostname-override", "worker1", "--cluster-cidr", "10.244.0.0/16",
		"--healthz-bind-address", r.healthz, "--metrics-bind-address", r.metric}, args...)...)
}

// startArgs starts it with no other arguments.
func (r *proxyRun) startArgs(t *testing.T, args ...string) {
	args = append([]string{"proxy"}, args...)
	ctx, stop := context.WithCancel(t.Context())
	r.stop = stop
	root := newRootCommand(streams{in: strings.NewReader(""), out: io.Discard, errOut: &r.log})
	root.SetArgs(args)
	go func() {
		r.done <- root.ExecuteContext(ctx)
		close(r.done)
	}()
	t.Cleanup(func() {
		stop()
		for range r.done { // until it has ended
		}
	})
}

// replaceObjects puts another file in the place of the one with the objects, so that no half of it is read.
func (r *proxyRun) replaceObjects(t *testing.T, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(r.objects+".new", []byte(text), 0o600))
	require.NoError(t, os.Rename(r.objects+".new", r.objects))
}

// patience bounds every wait of these tests. It is long since other work may go on beside them; nothing waits for its end.
const patience = 2 * time.Minute

// get asks until the answer is as it should be.
func (r *proxyRun) get(t *testing.T, url string, want func(status int, header http.Header, body string) bool) (body string) {
	t.Helper()
	last := "no answer"
	answered := assert.Eventually(t, func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+url, nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		body, last = string(text), fmt.Sprintf("%d %s", response.StatusCode, text)
		return want(response.StatusCode, response.Header, body)
	}, patience, 100*time.Millisecond) // each answer with metrics takes milliseconds of a processor
	if !answered {
		require.Fail(t, "not the answer that is wanted", "%s: last answer %s\n%s", url, last, r.log.String())
	}
	return body
}

func ok(status int, _ http.Header, _ string) bool { return status == http.StatusOK }

func contains(words ...string) func(int, http.Header, string) bool {
	return func(_ int, _ http.Header, body string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(body, word) })
	}
}

// savedRules are what the fake kernel holds.
func savedRules(t *testing.T, tool ...string) string {
	var out bytes.Buffer
	require.Zero(t, run(append([]string{"tool"}, tool...), nil, &out, io.Discard))
	return out.String()
}

// runTools runs tools on the fake kernel.
func runTools(t *testing.T, commands ...string) {
	t.Helper()
	for _, command := range commands {
		var out bytes.Buffer
		require.Zero(t, run(append([]string{"tool"}, strings.Fields(command)...), nil, &out, &out), "%s: %s", command, &out)
	}
}

func TestProxyOnTheFakeKernel(t *testing.T) {
	r := startProxy(t)
	r.get(t, r.metric+"/metrics", contains(`kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv4"} 1`,
		`kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv6"} 1`))
	rules := savedRules(t, "iptables-save")
	assert.Contains(t, rules, "--to-destination 10.244.1.2:8080")
	assert.Contains(t, rules, ":KUBE-PROXY-CANARY")
	assert.Contains(t, savedRules(t, "ip6tables-save"), "-A PREROUTING -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES")

	assert.Regexp(t, `"nodeEligible":true`, r.get(t, r.healthz+"/healthz", ok))
	r.get(t, r.healthz+"/livez", ok)
	assert.Equal(t, "iptables", r.get(t, r.metric+"/proxyMode", ok))
	assert.Equal(t, "ok", r.get(t, r.metric+"/healthz", ok))
	assert.Contains(t, r.get(t, r.metric+"/configz", ok), `"clusterCIDR":"10.244.0.0/16"`)
	check := r.get(t, fmt.Sprintf("127.0.0.1:%d/", r.check), func(status int, header http.Header, _ string) bool {
		return status == http.StatusOK && header.Get("X-Load-Balancing-Endpoint-Weight") == "1"
	})
	assert.JSONEq(t, `{"service": {"namespace": "default", "name": "web"}, "localEndpoints": 1, "serviceProxyHealthy": true}`, check)

	// The file is read again when it changes.
	text, err := os.ReadFile(r.objects)
	require.NoError(t, err)
	r.replaceObjects(t, strings.ReplaceAll(string(text), "worker1}, {", "worker3}, {"))
	r.get(t, fmt.Sprintf("127.0.0.1:%d/", r.check), func(status int, _ http.Header, _ string) bool {
		return status == http.StatusServiceUnavailable
	})
	assert.Contains(t, r.get(t, r.metric+"/metrics", ok), `kubeproxy_sync_partial_proxy_rules_duration_seconds_count{ip_family="IPv4"} 1`)
	assert.Contains(t, savedRules(t, "iptables-save"), "has no local endpoints")

	r.stop()
	require.NoError(t, <-r.done)
	rules = savedRules(t, "iptables-save")
	assert.Contains(t, rules, "--to-destination 10.244.1.2:8080", "the rules stay")
	assert.NotContains(t, rules, "KUBE-PROXY-CANARY")
	_, err = net.Dial("tcp", r.healthz)
	require.Error(t, err, "nobody listens any longer")

	require.Zero(t, run([]string{"proxy", "--fake", "--cleanup"}, nil, io.Discard, io.Discard))
	left := regexp.MustCompile(`KUBE-[A-Z0-9-]+`).FindAllString(savedRules(t, "iptables-save"), -1)
	slices.Sort(left)
	assert.Equal(t, []string{"KUBE-FIREWALL"}, slices.Compact(left), "the kubelet's chain stays")
}

// kubeproxyMetrics are kube-proxy's metrics in mode iptables, with their types.
var kubeproxyMetrics = map[string]string{
	"kubeproxy_conntrack_reconciler_deleted_entries_total":               "counter",
	"kubeproxy_conntrack_reconciler_sync_duration_seconds":               "histogram",
	"kubeproxy_iptables_ct_state_invalid_dropped_packets_total":          "counter",
	"kubeproxy_iptables_localhost_nodeports_accepted_packets_total":      "counter",
	"kubeproxy_network_programming_duration_seconds":                     "histogram",
	"kubeproxy_proxy_healthz_total":                                      "counter",
	"kubeproxy_proxy_livez_total":                                        "counter",
	"kubeproxy_sync_full_proxy_rules_duration_seconds":                   "histogram",
	"kubeproxy_sync_partial_proxy_rules_duration_seconds":                "histogram",
	"kubeproxy_sync_proxy_rules_duration_seconds":                        "histogram",
	"kubeproxy_sync_proxy_rules_endpoint_changes_pending":                "gauge",
	"kubeproxy_sync_proxy_rules_endpoint_changes_total":                  "counter",
	"kubeproxy_sync_proxy_rules_iptables_last":                           "gauge",
	"kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total": "counter",
	"kubeproxy_sync_proxy_rules_iptables_restore_failures_total":         "counter",
	"kubeproxy_sync_proxy_rules_iptables_total":                          "gauge",
	"kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds":           "gauge",
	"kubeproxy_sync_proxy_rules_last_timestamp_seconds":                  "gauge",
	"kubeproxy_sync_proxy_rules_no_local_endpoints_total":                "gauge",
	"kubeproxy_sync_proxy_rules_service_changes_pending":                 "gauge",
	"kubeproxy_sync_proxy_rules_service_changes_total":                   "counter",
}

// Every metric shows up in one run that gives it a reason to.
func TestProxyMetrics(t *testing.T) {
	// The monitor looks for the rules as often, and takes them for lost where a slow machine has not written them by then.
	r := startProxy(t, "--iptables-min-sync-period", "0s", "--iptables-sync-period", "5s")
	r.get(t, r.healthz+"/healthz", ok)
	r.get(t, r.healthz+"/livez", ok)
	r.get(t, r.metric+"/metrics", contains(`kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv4"} 1`))
	// A chain that a partial sync relies on is taken away, so its restore fails.
	endpoint := regexp.MustCompile(`:(KUBE-SEP-[A-Z0-9]+)`).FindStringSubmatch(savedRules(t, "iptables-save"))[1]
	for _, chain := range regexp.MustCompile(`:(KUBE-SV[CL]-[A-Z0-9]+)`).FindAllStringSubmatch(savedRules(t, "iptables-save"), -1) {
		runTools(t, "iptables -w -t nat -F "+chain[1])
	}
	runTools(t, "iptables -w -t nat -F "+endpoint, "iptables -w -t nat -X "+endpoint)
	text := fmt.Sprintf(proxyObjects, r.check)
	text = strings.Replace(text, "endpoints: [", "endpoints: [{addresses: [10.244.1.3], nodeName: worker1}, ", 1)
	text += `---
apiVersion: v1
kind: Service
metadata: {name: dns, namespace: default}
spec: {clusterIP: 172.30.0.10, ports: [{port: 53, protocol: UDP}]}
`
	r.replaceObjects(t, text)
	scraped := r.get(t, r.metric+"/metrics", contains(
		"kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total{ip_family=\"IPv4\"} 1",
		"kubeproxy_conntrack_reconciler_deleted_entries_total{ip_family=\"IPv4\"} 0",
		"kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family=\"IPv4\"} 2"))
	assert.Contains(t, savedRules(t, "iptables-save"), "--to-destination 10.244.1.3:8080", "the failure was repaired by a full sync")

	found := map[string]string{}
	for line := range strings.Lines(scraped) {
		name, kind, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "# TYPE "), " ")
		if ok && strings.HasPrefix(line, "# TYPE kubeproxy_") {
			found[name] = kind
		}
	}
	assert.Equal(t, kubeproxyMetrics, found)
	assert.Contains(t, scraped, "\ngo_goroutines ")
}

func TestProxyConfiguration(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "config.yaml")
	var errOut bytes.Buffer
	require.Zero(t, run([]string{"proxy", "--write-config-to", file, "--cluster-cidr", "10.1.0.0/16", "--iptables-masquerade-bit", "15",
		"--conntrack-max-per-core", "0", "--iptables-min-sync-period", "0"}, nil, io.Discard, &errOut), errOut.String())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, line := range []string{
		"apiVersion: kubeproxy.config.k8s.io/v1alpha1", "kind: KubeProxyConfiguration", "clusterCIDR: 10.1.0.0/16", "  masqueradeBit: 15",
		"  maxPerCore: 0", "healthzBindAddress: 0.0.0.0:10256", "metricsBindAddress: 127.0.0.1:10249", "mode: iptables",
		"  syncPeriod: 30s", "  minSyncPeriod: 1ns",
		"detectLocalMode: ClusterCIDR", "oomScoreAdj: -999", "  tcpEstablishedTimeout: 24h0m0s",
	} {
		assert.Contains(t, "\n"+string(text), "\n"+line+"\n")
	}
	again := filepath.Join(folder, "again.yaml")
	require.Zero(t, run([]string{"proxy", "--config", file, "--write-config-to", again, "--masquerade-all"}, nil, io.Discard, &errOut))
	assert.Equal(t, "chainwalk: warning: --config is given, so these flags do not count: --masquerade-all\n", errOut.String())
	twice, err := os.ReadFile(again)
	require.NoError(t, err)
	assert.Equal(t, string(text), string(twice))
}

func TestProxyRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"+
		"iptables: {masqueradebits: 3}\n"), 0o600))
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"misspelt field", []string{"--config", file}, file + ":3:12: "},
		{"bad bit", []string{"--iptables-masquerade-bit", "32"}, "iptables.masqueradeBit: Invalid value: 32: must be 0 to 31"},
		{"other mode", []string{"--proxy-mode", "ipvs"}, "mode: Invalid value: \"ipvs\": not supported: iptables and nftables are"},
		{"gate", []string{"--feature-gates", "Foo=true"}, "featureGates: Invalid value: {\"Foo\":true}: unrecognized feature gate: Foo"},
		{"local mode", []string{"--detect-local-mode", "Guess"}, "detectLocalMode: Unsupported value: \"Guess\""},
		{"no API server", []string{"--fake"}, "no API server: give --kubeconfig, or --filename with objects"},
		{"no such file", []string{"--fake", "-f", file + "x"}, "no such file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("CHAINWALK_STATE", t.TempDir())
			var errOut bytes.Buffer
			assert.Equal(t, exitUsage, run(append([]string{"proxy"}, test.args...), nil, io.Discard, &errOut))
			assert.Contains(t, errOut.String(), test.want)
		})
	}
}

func TestProxyEndsWhenItsConfigurationChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	healthz := fmt.Sprintf("127.0.0.1:%d", freeport.New(t))
	text := fmt.Sprintf("apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nhealthzBindAddress: %s\n"+
		"metricsBindAddress: 127.0.0.1:%d\n",
		healthz, freeport.New(t))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	r := startProxy(t, "--config", file)
	r.get(t, healthz+"/livez", ok)
	require.NoError(t, os.WriteFile(file, []byte(text+"mode: iptables\n"), 0o600))
	require.EqualError(t, <-r.done, errConfigChanged.Error())
}

func TestProxyInitOnly(t *testing.T) {
	t.Setenv("CHAINWALK_STATE", t.TempDir())
	assert.Zero(t, run([]string{"proxy", "--fake", "--init-only"}, nil, io.Discard, io.Discard))
	assert.NotContains(t, savedRules(t, "iptables-save"), "KUBE")
}

// TestProxyTakesTheNodeOfItsFiles: the only one on the fake kernel; where it is not clear, or there is none, that is said at once.
func TestProxyTakesTheNodeOfItsFiles(t *testing.T) {
	t.Setenv("CHAINWALK_STATE", t.TempDir())
	const service = "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.41, ports: [{port: 80}]}}\n"
	two := node + "\n---\n" + strings.Replace(node, "n1", "n2", 1)
	for _, tc := range []struct {
		name, objects, want string
		args                []string
	}{
		{"no Node", service, "the files have no Node: add the proxy's own Node", []string{"--fake"}},
		{"two", two, "the files have no Node of that name, but n1, n2: choose one with --hostname-override", []string{"--fake"}},
		{"another one", two, "--hostname-override n3: the files have no Node of that name, but n1, n2", []string{"--fake",
			"--hostname-override", "n3"}},
	} {
		status, _, errOut := call(tc.objects, append([]string{"proxy", "-f", "-"}, tc.args...)...)
		assert.Equal(t, exitUsage, status, tc.name)
		assert.Contains(t, errOut, tc.want, tc.name)
	}

	r := newProxyRun(t)
	r.objects = write(t, "objects.yaml", fmt.Sprintf(proxyObjects, r.check))
	r.startArgs(t, "--healthz-bind-address", r.healthz, "--metrics-bind-address", r.metric, "--fake", "-f", r.objects, "-v", "2")
	r.get(t, r.metric+"/metrics", contains(`kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv4"} 1`))
	assert.Contains(t, savedRules(t, "iptables-save"), "--to-destination 10.244.1.2:8080")
	assert.Contains(t, r.get(t, r.metric+"/configz", ok), `"hostnameOverride":"worker1"`)
	assert.Contains(t, r.log.String(), `"msg"="The rules are synced" "family"="IPv4" "full"=true`)
}

// TestProxyLogsWhatIsAskedFor: -v counts beside a configuration file too, as kube-proxy's.
func TestProxyLogsWhatIsAskedFor(t *testing.T) {
	config := write(t, "config.yaml", "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nlogging: {verbosity: 4}\n")
	for _, tc := range []struct {
		args []string
		want int
	}{
		{nil, 0}, {[]string{"-v", "2"}, 2}, {[]string{"--v=3", "--vmodule", "a=1", "--log-flush-frequency", "1s"}, 3},
		{[]string{"--config", config}, 4}, {[]string{"--config", config, "-v", "5"}, 5},
	} {
		var o proxyOptions
		cmd := &cobra.Command{}
		o.flags = proxyflags.Add(cmd)
		cmd.Flags().StringVar(&o.config, "config", "", "")
		require.NoError(t, cmd.ParseFlags(tc.args))
		c, err := proxyConfiguration(streams{errOut: io.Discard}, o)
		require.NoError(t, err)
		assert.EqualValues(t, tc.want, c.Logging.Verbosity, tc.args)
		var out bytes.Buffer
		for v := range 7 {
			proxyLogger(streams{errOut: &out}, &c.Logging).V(v).Info("said", "v", v)
		}
		assert.Equal(t, tc.want+1, strings.Count(out.String(), "said"))
	}
	var out bytes.Buffer
	proxyLogger(streams{errOut: &out}, &logsapi.LoggingConfiguration{Format: "json"}).Info("said", "v", 1)
	assert.JSONEq(t, `{"logger":"","level":0,"msg":"said","v":1}`, out.String())
	status, _, errOut := call("", "proxy", "--logging-format", "xml")
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, `logging format "xml": want text or json`)
}

// TestProxyHelpIsInGroups: every flag is in one group, and nothing else is in the help.
func TestProxyHelpIsInGroups(t *testing.T) {
	status, out, _ := call("", "proxy", "--help")
	require.Equal(t, exitHeld, status)
	for _, title := range []string{"What to do", "Node", "Rules", "Traffic of this node's pods", "Connections", "Health and metrics",
		"API server", "Logging"} {
		assert.Contains(t, out, "\n"+title+":\n")
	}
	cmd := newProxyCommand(streams{})
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		assert.Equal(t, 1, len(regexp.MustCompile(`(?m)^  (-.,|   ) --`+flag.Name+` `).FindAllString(out, -1)), flag.Name)
	})
	assert.Contains(t, out, "chainwalk proxy --fake -f objects.yaml\n")
}
