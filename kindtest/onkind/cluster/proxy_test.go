package cluster

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/internal/interrupt"
	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

func TestConfigurationKeepsWhatTheClusterDoesNotOwn(t *testing.T) {
	given := &kubeproxy.KubeProxyConfiguration{ClusterCIDR: "10.0.0.0/8", HealthzBindAddress: "127.0.0.1:7777", Mode: "ipvs"}
	given.IPTables.MasqueradeAll = true
	given.IPTables.SyncPeriod = metav1.Duration{Duration: time.Minute}
	given.NFTables.MinSyncPeriod = metav1.Duration{Duration: time.Second}
	got := ownFields(given, "iptables", false)
	assert.Equal(t, "10.0.0.0/8", got.ClusterCIDR)
	assert.True(t, got.IPTables.MasqueradeAll)
	assert.Equal(t, time.Minute, got.IPTables.SyncPeriod.Duration)
	assert.Equal(t, time.Second, got.NFTables.MinSyncPeriod.Duration)
	assert.Equal(t, "0.0.0.0:7777", got.HealthzBindAddress)
	assert.Equal(t, "127.0.0.1:7777", given.HealthzBindAddress, "the argument was changed")

	assert.Equal(t, "0.0.0.0:10249", got.MetricsBindAddress)
	assert.Equal(t, "/etc/service-proxy/kubeconfig", got.ClientConnection.Kubeconfig)
	assert.Equal(t, kubeproxy.ProxyMode("iptables"), got.Mode)
	assert.Zero(t, *got.Conntrack.MaxPerCore, "the limit of connections belongs to the whole machine")
	assert.Equal(t, minSyncPeriod, got.IPTables.MinSyncPeriod.Duration)
	assert.Equal(t, "[::]:7777", ownFields(given, "iptables", true).HealthzBindAddress)
}

// What a node is given must be what the proxy reads, strictly.
func TestConfigurationIsOneThatChainwalkTakes(t *testing.T) {
	text, err := configurationText(ownFields(&kubeproxy.KubeProxyConfiguration{ClusterCIDR: podsIPv4}, "iptables", false))
	require.NoError(t, err)
	read, err := manifest.ReadKubeProxyConfiguration("config.yaml", strings.NewReader(text))
	require.NoError(t, err, text)
	require.NoError(t, proxier.Validate(proxier.WithDefaults(read)))
	assert.Equal(t, podsIPv4, read.ClusterCIDR)
	assert.Equal(t, minSyncPeriod, read.IPTables.MinSyncPeriod.Duration)
}

func TestRestartsAreInTheFileOnly(t *testing.T) {
	file := proxyFile{text: "mode: iptables\n"}
	assert.Equal(t, "mode: iptables\n", file.String())
	file.restarts = 3
	assert.Equal(t, "mode: iptables\n# restarts: 3\n", file.String())
}

func TestDaemonSetRunsTheProgramWithTheNodesTools(t *testing.T) {
	pod := proxyDaemonSet(Proxy{Name: Chainwalk, Mode: "iptables"}, "localhost/chainwalk:1").Spec.Template.Spec
	assert.True(t, pod.HostNetwork)
	assert.Equal(t, "service-proxy", pod.ServiceAccountName)
	container := pod.Containers[0]
	assert.Equal(t, []string{"/chainwalk", "proxy", "--hostname-override=$(NODE_NAME)"}, container.Args)
	assert.Equal(t, "/etc/service-proxy/$(NODE_NAME)", container.Command[4])
	assert.Equal(t, "/healthz", container.ReadinessProbe.HTTPGet.Path)
	var readOnly, writable []string
	for _, mount := range container.VolumeMounts {
		if mount.ReadOnly {
			readOnly = append(readOnly, mount.MountPath)
		} else {
			writable = append(writable, mount.MountPath)
		}
	}
	assert.Equal(t, []string{"/usr", "/lib", "/lib64", "/etc/protocols", "/etc/alternatives"}, readOnly)
	assert.Equal(t, []string{"/etc/service-proxy", "/run/service-proxy", ToolsFolder, "/run/xtables.lock"}, writable)
	assert.Equal(t, []string{"/kube-proxy", "--hostname-override=$(NODE_NAME)"}, proxyCommand(KubeProxy))
}

// supervised runs the supervisor with a program, a line of shell, as its proxy.
func supervised(t *testing.T, proxy string) (given string, cmd *exec.Cmd, out *bufio.Scanner) {
	interrupt.Heard(t)
	folder := t.TempDir()
	first, given := filepath.Join(folder, "first"), filepath.Join(folder, "given")
	require.NoError(t, os.WriteFile(first, []byte("first\n"), 0o600))
	cmd = exec.Command("sh", "-c", supervise, "supervise", first, given, filepath.Join(folder, "copy"), "sh", "-c", proxy, "proxy")
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return given, cmd, bufio.NewScanner(pipe)
}

func line(t *testing.T, out *bufio.Scanner) string {
	t.Helper()
	require.True(t, out.Scan(), "the output has ended: %v", out.Err())
	return out.Text()
}

func TestProxyIsStartedAgainWithAnotherConfiguration(t *testing.T) {
	given, cmd, out := supervised(t, `trap 'echo ended; exit' TERM; cat "$2"; while :; do sleep 0.05; done`)
	assert.Equal(t, "first", line(t, out))
	require.NoError(t, os.WriteFile(given+".new", []byte("second\n"), 0o600))
	require.NoError(t, os.Rename(given+".new", given))
	assert.Equal(t, "ended", line(t, out))
	assert.Equal(t, "second", line(t, out))
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	assert.Equal(t, "ended", line(t, out), "the proxy goes with its supervisor")
}

func TestProxyThatEndsByItselfEndsTheContainer(t *testing.T) {
	_, cmd, out := supervised(t, `echo begun; exit 7`)
	assert.Equal(t, "begun", line(t, out))
	var failed *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &failed)
	assert.Equal(t, 7, failed.ExitCode())
}

// TestToolsOfTheOldProxyAreWaitedFor: one that is left behind goes by the name of a tool, and takes longer than the proxy.
func TestToolsOfTheOldProxyAreWaitedFor(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "iptables-of-test")
	shell, err := exec.LookPath("sh")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(shell, tool))
	given, cmd, out := supervised(t, `trap exit TERM
cat "$2"
`+tool+` -c 'echo the tool begins; n=0; while [ $n -lt 100 ]; do sleep 0.01; n=$((n + 1)); done; echo the tool ends' &
while :; do sleep 0.05; done`)
	assert.Equal(t, "first", line(t, out))
	assert.Equal(t, "the tool begins", line(t, out)) // or the supervisor might be told before there is one
	require.NoError(t, os.WriteFile(given+".new", []byte("second\n"), 0o600))
	require.NoError(t, os.Rename(given+".new", given))
	assert.Equal(t, "the tool ends", line(t, out))
	assert.Equal(t, "second", line(t, out))
	require.NoError(t, cmd.Process.Kill())
}
