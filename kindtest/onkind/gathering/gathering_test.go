//go:build clusters

package gathering

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/users/gather"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

// TestGatheringFromACluster makes a cluster and does there what the page of gathering says.
func TestGatheringFromACluster(t *testing.T) {
	kerneltest.Asked(t, variable, "make a kind cluster with Docker (make gather-e2e)")
	b := newBench(t)
	t.Run("a sound cluster", func(t *testing.T) { soundCluster(t, b) })
	t.Run("three faults are named on their nodes", func(t *testing.T) { threeFaults(t, b) })
	t.Run("a right is missing", func(t *testing.T) { missingRights(t, b) })
	t.Run("pod security refuses", func(t *testing.T) { podSecurity(t, b) })
	t.Run("an image that cannot be had", func(t *testing.T) { noImage(t, b) })
	t.Run("an interrupt", func(t *testing.T) { interrupt(t, b) })
	t.Run("a killed run is cleaned up", func(t *testing.T) { killed(t, b) })
	t.Run("the account goes", func(t *testing.T) { accountGoes(t, b) })
}

// examined is what doctor says of the cluster, which it gathers from.
func examined(t *testing.T, b *bench, args ...string) (int, *live.Report) {
	t.Helper()
	status, out, errOut := b.run(t, slices.Concat([]string{"doctor", "-o", "json"}, b.gathering(), args)...)
	report := &live.Report{}
	require.NoError(t, json.Unmarshal([]byte(out), report), errOut)
	return status, report
}

func soundCluster(t *testing.T, b *bench) {
	status, report := examined(t, b)
	assert.Equal(t, 0, status)
	assert.Empty(t, report.Findings)
	assert.Regexp(t, `^nothing is wrong: \d+ connections judged on 3 nodes$`, report.Answer)
	b.nothingLeft(t)
}

// threeFaults breaks each node in another way. What doctor says of the folder that it keeps is the same.
func threeFaults(t *testing.T, b *bench) {
	nodes := b.Nodes()
	faults := []struct {
		make, mend string
		code       cause.Code
	}{
		{"iptables -P FORWARD DROP", "iptables -P FORWARD ACCEPT", cause.Policy},
		{"sysctl -w net.ipv4.ip_forward=0", "sysctl -w net.ipv4.ip_forward=1", cause.ForwardingOff},
		{"iptables -t nat -I PREROUTING -d " + virtualIP + " -p tcp --dport 80 -j DNAT --to-destination 192.0.2.1:80",
			"iptables -t nat -D PREROUTING -d " + virtualIP + " -p tcp --dport 80 -j DNAT --to-destination 192.0.2.1:80", cause.ForeignNAT},
	}
	for i, fault := range faults {
		b.on(t, nodes[i].Name, fault.make)
		t.Cleanup(func() { b.on(t, nodes[i].Name, fault.mend) })
	}
	folder := filepath.Join(t.TempDir(), "kept")
	status, report := examined(t, b, "--save", folder)
	assert.Equal(t, 1, status)
	got := map[cause.Code][]string{}
	for i := range report.Findings {
		f := &report.Findings[i]
		got[f.Code] = append(got[f.Code], f.Nodes...)
	}
	want := map[cause.Code][]string{}
	for i, fault := range faults {
		want[fault.code] = []string{nodes[i].Name}
	}
	assert.Equal(t, want, got, report.Answer)
	b.nothingLeft(t)

	status, out, errOut := b.run(t, "doctor", "--saved", folder, "-o", "json")
	assert.Equal(t, 1, status, errOut)
	offline := &live.Report{}
	require.NoError(t, json.Unmarshal([]byte(out), offline))
	assert.Equal(t, report, offline)
	_, out, _ = b.run(t, "doctor", "--saved", folder)
	t.Log(out)
}

// missingRights takes each right away in turn. What the refusal prints gives it back.
func missingRights(t *testing.T, b *bench) {
	for _, right := range gather.Rights(namespace) {
		t.Run(right.String(), func(t *testing.T) {
			var others []gather.Right
			for _, r := range gather.Rights(namespace) {
				if r != right {
					others = append(others, r)
				}
			}
			if !slices.ContainsFunc(others, func(r gather.Right) bool { return r.Namespace == right.Namespace }) {
				b.kubectl(t, "", "delete", "role", "chainwalk-gather", "-n", right.Namespace)
			}
			b.kubectl(t, gather.RolesYAML(others), "apply", "-f", "-")
			args := append([]string{"gather", "--save", filepath.Join(t.TempDir(), "kept")}, b.gathering()...)
			status, _, errOut := b.run(t, args...)
			if right.Without == "" {
				assert.Equal(t, 2, status)
			} else {
				assert.Equal(t, 0, status)
				assert.Contains(t, errOut, right.Without)
			}
			assert.Contains(t, errOut, right.String())
			b.nothingLeft(t)

			b.kubectl(t, errOut[strings.Index(errOut, "# kubectl create"):strings.LastIndex(errOut, "}")+1]+"\n", "apply", "-f", "-")
			assert.Empty(t, b.missing(t))
		})
	}
}

// missing asks kubectl which rights the account does not have.
func (b *bench) missing(t *testing.T) (missing []string) {
	for _, r := range gather.Rights(namespace) {
		resource, sub, _ := strings.Cut(r.Resource, "/")
		if r.Group != "" {
			resource += "." + r.Group
		}
		args := []string{"exec", b.Nodes()[0].Name, "kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", "auth", "can-i", r.Verb, resource,
			"--as=system:serviceaccount:" + namespace + ":" + account}
		if r.Name != "" {
			args[len(args)-2] += "/" + r.Name
		}
		if sub != "" {
			args = append(args, "--subresource="+sub)
		}
		if r.Namespace != "" {
			args = append(args, "-n", r.Namespace)
		} else {
			args = append(args, "-A")
		}
		out, _ := exec.CommandContext(t.Context(), "docker", args...).Output() // its status says no as well
		if strings.TrimSpace(string(out)) != "yes" {
			missing = append(missing, r.String())
		}
	}
	return missing
}

func podSecurity(t *testing.T, b *bench) {
	const label = "pod-security.kubernetes.io/enforce="
	b.kubectl(t, "", "label", "namespace", namespace, label+"baseline", "--overwrite")
	status, _, errOut := b.run(t, append([]string{"doctor"}, b.gathering()...)...)
	assert.Equal(t, 2, status)
	command := "kubectl label namespace " + namespace + " " + label + "privileged --overwrite"
	assert.Contains(t, errOut, command)
	b.nothingLeft(t)
	b.kubectl(t, "", strings.Fields(command)[1:]...)
	status, _ = examined(t, b)
	assert.Equal(t, 0, status)
}

// noImage has all nodes without a snapshot: nothing can be said.
func noImage(t *testing.T, b *bench) {
	args := append([]string{"doctor"}, b.gathering()...)
	args[slices.Index(args, b.image)] = "localhost/nowhere:1"
	status, out, errOut := b.run(t, args...)
	assert.Equal(t, 2, status, errOut)
	assert.Regexp(t, `^no snapshot of .*localhost/nowhere:1.*; nothing can be said of any node\n`, out)
	b.nothingLeft(t)
}

// started starts a run, and returns when its first pod is there.
func started(t *testing.T, b *bench) (*exec.Cmd, *strings.Builder, func()) {
	t.Helper()
	args := append([]string{"doctor"}, b.gathering()...)
	args[slices.Index(args, b.image)] = "localhost/nowhere:2" // which keeps the pods waiting for a while
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), b.chainwalk, args...)
	pipe, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said := &strings.Builder{}
	read := make(chan struct{})
	go func() {
		_, _ = io.Copy(said, bufio.NewReader(pipe))
		close(read)
	}()
	watch, err := b.Client().Pods(namespace).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer watch.Stop()
	select {
	case <-watch.ResultChan():
	case <-read:
		t.Fatalf("no pod was made: %s", said)
	}
	return cmd, said, func() { <-read }
}

func interrupt(t *testing.T, b *bench) {
	cmd, said, read := started(t, b)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	read()
	_ = cmd.Wait()
	assert.Equal(t, 2, cmd.ProcessState.ExitCode())
	assert.Contains(t, said.String(), "interrupted")
	b.nothingLeft(t)
}

func killed(t *testing.T, b *bench) {
	cmd, _, read := started(t, b)
	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	read()
	_ = cmd.Wait()
	pods, err := b.Client().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, pods.Items)
	status, out, errOut := b.run(t, "gather", "--clean", "--kubeconfig", b.kubeconfig, "--pod-namespace", namespace)
	assert.Equal(t, 0, status, errOut)
	assert.Contains(t, out, "removed pod "+namespace+"/"+pods.Items[0].Name)
	b.nothingLeft(t)
}

// accountGoes removes what docs/gather.yaml has made, and looks that nothing of it is left.
func accountGoes(t *testing.T, b *bench) {
	b.kubectl(t, b.page(t), "delete", "--wait", "-f", "-")
	_, err := b.Client().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	roles := b.kubectl(t, "", "get", "clusterroles,clusterrolebindings,roles,rolebindings", "-A", "-o", "name")
	assert.NotContains(t, roles, "chainwalk-gather")
	for _, node := range b.Nodes() {
		assert.Empty(t, b.on(t, node.Name, "find / -xdev -name '*chainwalk-collect*' -not -path '/proc/*' -not -path '/var/lib/containerd/*' "+
			"-not -path '/var/log/*'"), node.Name)
	}
}
