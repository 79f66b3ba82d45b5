//go:build clusters

package gathering

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/internal/overlay"
	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/kindtest/onkind/provision"
)

const (
	variable = "CHAINWALK_GATHER"
	name     = "gather" // of the cluster
	// namespace and account are named in docs/gather.yaml.
	namespace, account = "chainwalk", "gather"
	virtualIP          = "10.96.77.7"
)

// bench is a cluster with what the tests need of it.
type bench struct {
	*cluster.Cluster
	root       string
	chainwalk  string // the program
	image      string // of the collector
	kubeconfig string // of the service account
}

// newBench makes the programs and the cluster, a service in it, and the account of docs/gather.yaml.
func newBench(t *testing.T) *bench {
	t.Helper()
	root, err := overlay.Root()
	require.NoError(t, err)
	b := &bench{root: root, chainwalk: built(t, root, "chainwalk")}
	collector := built(t, root, "chainwalk-collect")
	b.Cluster, err = cluster.Start(t.Context(), cluster.Config{Name: name, Binary: b.chainwalk, Workers: 2, Pool: 2,
		Provision: provision.Nodes,
		Image:     os.Getenv("NODE_IMAGE"), Progress: t.Output()})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, done := context.WithTimeout(context.Background(), 2*time.Minute)
		defer done()
		require.NoError(t, b.Close(ctx))
	})
	b.image, err = b.LoadProgram(t.Context(), "chainwalk-collect", collector)
	require.NoError(t, err)
	b.makeService(t)
	b.kubectl(t, b.page(t), "apply", "-f", "-")
	b.kubeconfig = b.accountConfig(t)
	return b
}

// built is a program as it is released.
func built(t *testing.T, root, program string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), program)
	require.NoError(t, cluster.BuildProgram(t.Context(), root, program, path))
	return path
}

// page is the manifest that the documents have.
func (b *bench) page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.root, "docs", "gather.yaml"))
	require.NoError(t, err)
	return string(text)
}

// makeService makes a service with an endpoint on each node.
func (b *bench) makeService(t *testing.T) {
	t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: metav1.NamespaceDefault},
		Spec: corev1.ServiceSpec{ClusterIP: virtualIP, Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}
	_, err := b.Client().Services(service.Namespace).Create(t.Context(), service, metav1.CreateOptions{})
	require.NoError(t, err)
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: service.Namespace,
		Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(8080))}}}
	seen := map[string]bool{}
	for _, pod := range b.Pods() {
		if !seen[pod.Node] {
			seen[pod.Node] = true
			slice.Endpoints = append(slice.Endpoints,
				discoveryv1.Endpoint{Addresses: []string{pod.Addresses[0].String()}, NodeName: ptr.To(pod.Node),
					Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}})
		}
	}
	_, err = b.Client().EndpointSlices(slice.Namespace).Create(t.Context(), slice, metav1.CreateOptions{})
	require.NoError(t, err)
	b.untilNodesHave(t, virtualIP)
}

// untilNodesHave waits until the proxy of each node has written rules for an address.
func (b *bench) untilNodesHave(t *testing.T, address string) {
	t.Helper()
	for _, node := range b.Nodes() {
		until(t, "a rule of "+node.Name+" for "+address, func() bool {
			return strings.Contains(b.on(t, node.Name, "iptables-save -t nat"), address)
		})
	}
}

// until looks again and again whether something holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return holds(), nil
	})
	require.NoError(t, err, what)
}

// on runs a line of shell on a node.
func (b *bench) on(t *testing.T, node, line string) string {
	t.Helper()
	out, err := exec.CommandContext(context.WithoutCancel(t.Context()),
		"docker", "exec", "--privileged", node, "sh", "-c", line).CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// kubectl runs the control plane's, with all rights.
func (b *bench) kubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	args = append([]string{"exec", "-i", b.Nodes()[0].Name, "kubectl", "--kubeconfig=/etc/kubernetes/admin.conf"}, args...)
	cmd := exec.CommandContext(t.Context(), "docker", args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// accountConfig is a kubeconfig file for the service account.
func (b *bench) accountConfig(t *testing.T) string {
	t.Helper()
	token := b.kubectl(t, "", "create", "token", account, "--namespace", namespace, "--duration", "1h")
	to := b.RESTConfig()
	config := clientcmdapi.NewConfig()
	config.Clusters["kind"] = &clientcmdapi.Cluster{Server: to.Host, CertificateAuthorityData: to.CAData}
	config.AuthInfos[account] = &clientcmdapi.AuthInfo{Token: strings.TrimSpace(token)}
	config.Contexts[account] = &clientcmdapi.Context{Cluster: "kind", AuthInfo: account}
	config.CurrentContext = account
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, path))
	return path
}

// run runs chainwalk as the account, and returns the exit status and what it printed.
func (b *bench) run(t *testing.T, args ...string) (status int, out, errOut string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), b.chainwalk, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	t.Logf("chainwalk %s: status %d\n%s", strings.Join(args, " "), cmd.ProcessState.ExitCode(), stderr.String())
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// gathering are the flags with which a command gathers from the cluster.
func (b *bench) gathering() []string {
	return []string{"--kubeconfig", b.kubeconfig, "--pod-namespace", namespace, "--image", b.image, "--yes"}
}

// nothingLeft fails if a pod of the collector's is there, or a container of it on a node after a while.
func (b *bench) nothingLeft(t *testing.T) {
	t.Helper()
	pods, err := b.Client().Pods(metav1.NamespaceAll).List(t.Context(),
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=chainwalk-collect"})
	require.NoError(t, err)
	var names []string
	for i := range pods.Items {
		names = append(names, fmt.Sprintf("%s on %s", pods.Items[i].Name, pods.Items[i].Spec.NodeName))
	}
	require.Empty(t, names)
	for _, node := range b.Nodes() {
		until(t, "no container of the collector on "+node.Name, func() bool {
			return !strings.Contains(b.on(t, node.Name, "ctr --namespace=k8s.io containers list"), "chainwalk-collect")
		})
	}
}
