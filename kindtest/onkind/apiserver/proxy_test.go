//go:build clusters

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/internal/freeport"
	"github.com/chainwalk/chainwalk/proxier/config/apiserver"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
	"github.com/chainwalk/chainwalk/proxier/server"
	"github.com/chainwalk/chainwalk/proxier/sysctl"
)

// proxy is a proxy on a fake kernel.
type proxy struct {
	kernel *fakekernel.Kernel
	log    *journal
	done   chan error
	stop   context.CancelFunc
}

// startProxy runs a proxy of the node "here" until the test ends.
func startProxy(t *testing.T, client *apiserver.Client) *proxy {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	p := &proxy{kernel: fakekernel.New(fakekernel.Options{}), log: &journal{}, done: make(chan error, 1), stop: stop}
	place := func() string { return fmt.Sprintf("127.0.0.1:%d", freeport.New(t)) }
	configuration := &kubeproxyconfig.KubeProxyConfiguration{
		ClusterCIDR: "10.244.0.0/16", HostnameOverride: "here", HealthzBindAddress: place(), MetricsBindAddress: place(),
		IPTables: kubeproxyconfig.KubeProxyIPTablesConfiguration{MinSyncPeriod: metav1.Duration{Duration: 100 * time.Millisecond}},
	}
	host := server.Host{
		Name: "here", Cores: 1, Exec: p.kernel.Exec(), Settings: noSettings{}, Network: noDevices{}, Conntrack: noConnections{},
	}
	logger := funcr.New(p.log.add, funcr.Options{})
	go func() {
		p.done <- server.Run(ctx, server.Options{
			Configuration: configuration, API: client.API(), Events: client, Logger: logger, Host: host,
		})
		close(p.done)
	}()
	t.Cleanup(func() {
		stop()
		for range p.done { // until it has ended
		}
		if t.Failed() {
			t.Logf("the proxy's log:\n%s", p.log.text())
		}
	})
	return p
}

// rules are the nat table's.
func (p *proxy) rules() string {
	out, err := p.kernel.Exec().Command("iptables-save", "-t", "nat").CombinedOutput()
	if err != nil {
		return fmt.Sprintf("iptables-save: %v: %s", err, out)
	}
	return string(out)
}

// awaitRules waits until the nat table has all of these.
func (p *proxy) awaitRules(t *testing.T, parts ...string) {
	t.Helper()
	missing := func() string {
		rules := p.rules()
		for _, part := range parts {
			if !strings.Contains(rules, part) {
				return part
			}
		}
		return ""
	}
	p.await(t, "rules", func() bool { return missing() == "" })
}

// await waits until it is so, and fails at once if the proxy has ended.
func (p *proxy) await(t *testing.T, what string, ready func() bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		select {
		case err := <-p.done:
			assert.Failf(t, "the proxy has ended", "%v", err)
			return true
		default:
			return ready()
		}
	}, patience, 20*time.Millisecond, what)
}

// journal is a log.
type journal struct {
	lock  sync.Mutex
	lines []string
}

func (j *journal) add(_, line string) {
	j.lock.Lock()
	defer j.lock.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) text() string {
	j.lock.Lock()
	defer j.lock.Unlock()
	return strings.Join(j.lines, "\n")
}

// noSettings are kernel settings that nobody looks at.
type noSettings struct{}

func (noSettings) Get(string) (int, error)                       { return 0, nil }
func (noSettings) Set(string, int) error                         { return nil }
func (noSettings) Apply([]sysctl.Setting) (sysctl.Report, error) { return sysctl.Report{}, nil }

// noDevices is the network of a machine that has no addresses.
type noDevices struct{}

func (noDevices) NodeAddresses() ([]netip.Addr, error) {
	return nil, errors.New("there are no devices")
}

// noConnections is the conntrack table of a kernel that no packet passes.
type noConnections struct{}

func (noConnections) Walk(corev1.IPFamily, func(conntrack.Entry)) error      { return nil }
func (noConnections) Delete(corev1.IPFamily, []conntrack.Entry) (int, error) { return 0, nil }

// createNode makes the proxy's node.
func createNode(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "here"},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.168.0.2"}}},
	}
	_, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	require.NoError(t, err)
}

// createService makes a service of one endpoint, and returns the rules that lead to it.
func createService(ctx context.Context, client kubernetes.Interface, name, endpoint string) (rules []string, err error) {
	service, err := client.CoreV1().Services("default").Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	port := int32(8080)
	_, err = client.DiscoveryV1().EndpointSlices("default").Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{endpoint}}},
		Ports:       []discoveryv1.EndpointPort{{Port: &port}},
	}, metav1.CreateOptions{})
	return []string{"-d " + service.Spec.ClusterIP + "/32", "--to-destination " + endpoint + ":8080"}, err
}

func mustCreateService(t *testing.T, client kubernetes.Interface, name, endpoint string) []string {
	t.Helper()
	rules, err := createService(t.Context(), client, name, endpoint)
	require.NoError(t, err)
	return rules
}

// Without rights the proxy waits and says which it lacks. It goes on when it has them, without being started again.
func TestMissingRights(t *testing.T) {
	e := start(t)
	client := e.client(t, admin, nil)
	createNode(t, client)
	rules := mustCreateService(t, client, "web", "10.244.1.2")
	p := startProxy(t, e.proxyClient(t, nobody, nil))
	for _, resource := range []string{"services", "endpointslices", "nodes"} {
		p.await(t, "what it says of "+resource, func() bool {
			return strings.Contains(p.log.text(), fmt.Sprintf(`User \"nobody\" cannot list resource \"%s\"`, resource)) ||
				strings.Contains(p.log.text(), fmt.Sprintf(`User "nobody" cannot list resource "%s"`, resource))
		})
	}
	assert.NotContains(t, p.rules(), "KUBE-", "it does not know yet what to write")

	_, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "nobody"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:node-proxier"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: nobody}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	p.awaitRules(t, rules...)
}

// The rules stay while the API server is away, and follow it when it is back.
func TestAPIServerRestarts(t *testing.T) {
	e := start(t)
	client := e.client(t, admin, nil)
	createNode(t, client)
	before := mustCreateService(t, client, "before", "10.244.1.2")
	p := startProxy(t, e.proxyClient(t, kubeProxy, nil))
	p.awaitRules(t, before...)

	e.api.stop()
	p.await(t, "what it says", func() bool { return strings.Contains(p.log.text(), "connection refused") })
	for _, rule := range before {
		assert.Contains(t, p.rules(), rule)
	}
	e.startAPI(t)
	p.awaitRules(t, mustCreateService(t, client, "after", "10.244.1.3")...)
	require.NoError(t, client.CoreV1().Services("default").Delete(t.Context(), "before", metav1.DeleteOptions{}))
	p.await(t, "the service's rules go", func() bool { return !strings.Contains(p.rules(), before[0]) })
}

// A watch that begins at what the API server has forgotten begins anew, and nothing that happened in between is lost.
func TestWatchExpires(t *testing.T) {
	e := start(t)
	client := e.client(t, admin, nil)
	createNode(t, client)
	through := newGate()
	p := startProxy(t, e.proxyClient(t, kubeProxy, through))
	p.awaitRules(t, ":KUBE-SERVICES ")
	// A client does not resume a watch that has brought nothing.
	gone := mustCreateService(t, client, "gone", "10.244.1.2")
	stays := mustCreateService(t, client, "stays", "10.244.1.3")
	p.awaitRules(t, append(gone, stays...)...)

	through.close()
	require.NoError(t, client.CoreV1().Services("default").Delete(t.Context(), "gone", metav1.DeleteOptions{}))
	come := mustCreateService(t, client, "come", "10.244.1.4")
	e.compact(t)
	e.api.stop() // it remembers for longer than etcd
	e.startAPI(t)
	through.reopen()

	p.awaitRules(t, append(come, stays...)...)
	p.await(t, "the service's rules go", func() bool { return !strings.Contains(p.rules(), gone[0]) })
	assert.Positive(t, through.expirations(), "no watch was told that it has expired: this test has not tried what it is for")
}

// A node that is deleted and made again may be another machine: the process ends and says so, and what is started in its place goes on with
// the rules that it finds.
func TestNodeIsMadeAgain(t *testing.T) {
	e := start(t)
	client := e.client(t, admin, nil)
	createNode(t, client)
	rules := mustCreateService(t, client, "web", "10.244.1.2")
	p := startProxy(t, e.proxyClient(t, kubeProxy, nil))
	p.awaitRules(t, rules...)

	require.NoError(t, client.CoreV1().Nodes().Delete(t.Context(), "here", metav1.DeleteOptions{}))
	createNode(t, client)
	select {
	case err := <-p.done:
		assert.ErrorIs(t, err, server.ErrNodeChanged)
	case <-time.After(patience):
		t.Fatal("the proxy goes on as if nothing had happened")
	}
	for _, rule := range rules {
		assert.Contains(t, p.rules(), rule, "the rules stay")
	}
	again := startProxy(t, e.proxyClient(t, kubeProxy, nil))
	again.awaitRules(t, rules...)
}

// Many services that come at once all get their rules.
func TestManyServicesAtOnce(t *testing.T) {
	const count = 2000
	e := start(t)
	client := e.client(t, admin, nil)
	createNode(t, client)
	p := startProxy(t, e.proxyClient(t, kubeProxy, nil))
	p.awaitRules(t, ":KUBE-SERVICES ")

	all := make([][]string, count)
	work, ctx := errgroup.WithContext(t.Context())
	work.SetLimit(32)
	for n := range count {
		work.Go(func() (err error) {
			all[n], err = createService(ctx, client, fmt.Sprint("s", n), fmt.Sprintf("10.244.%d.%d", 1+n/200, 1+n%200))
			return err
		})
	}
	require.NoError(t, work.Wait())
	want := make(map[string]bool, 2*count)
	for _, rules := range all {
		want[rules[0]], want[rules[1]] = true, true
	}
	require.Len(t, want, 2*count)
	p.await(t, "the rules of all services", func() bool { return found(p.rules(), want) == 2*count })

	// Among so many, the service's own chains stay for a while when it goes.
	rule := "-A KUBE-SERVICES " + all[7][0]
	require.Contains(t, p.rules(), rule)
	require.NoError(t, client.CoreV1().Services("default").Delete(t.Context(), "s7", metav1.DeleteOptions{}))
	p.await(t, "the rules without one", func() bool { return !strings.Contains(p.rules(), rule) })
	assert.GreaterOrEqual(t, found(p.rules(), want), 2*count-2, "the others stay")
	assert.NotContains(t, p.log.text(), `"error"=`)
}

// found is how many of the wanted parts the rules have.
func found(rules string, want map[string]bool) int {
	seen := map[string]bool{}
	for line := range strings.Lines(rules) {
		words := strings.Fields(line)
		for n := 0; n+1 < len(words); n++ {
			if part := words[n] + " " + words[n+1]; want[part] {
				seen[part] = true
			}
		}
	}
	return len(seen)
}
