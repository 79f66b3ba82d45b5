package node

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	"k8s.io/utils/exec"
	testingexec "k8s.io/utils/exec/testing"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/api"
)

// settings are a node's sysctls; those that are not there are 0.
type settings map[string]int

func (s settings) Get(name string) (int, error)     { return s[name], nil }
func (s settings) Set(name string, value int) error { s[name] = value; return nil }

// addresses are a node's own.
type addresses []netip.Addr

func (a addresses) NodeAddresses() ([]netip.Addr, error) { return a, nil }

const web = "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.41, ports: [{port: 80}]}}"

// started is a node with a proxier that has not synced, and the API that it watches.
func started(t *testing.T, on exec.Interface) (*Node, *api.API) {
	t.Helper()
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node1"}, Status: corev1.NodeStatus{
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.168.0.2"}}}}
	objects, err := manifest.ReadObjects("web.yaml", strings.NewReader(web))
	require.NoError(t, err)
	kube, err := api.New(t.Context(), append(objects, manifest.Object{Object: object}), klog.Logger{})
	require.NoError(t, err)
	n := New("node1", Kernel{Exec: on, Sysctls: settings{}, Network: addresses{netip.MustParseAddr("192.168.0.2")}}, NewClock())
	warnings, err := n.Start(t.Context(), kube, &kubeproxyconfig.KubeProxyConfiguration{ClusterCIDR: "10.244.0.0/16"}, object)
	require.NoError(t, err)
	require.Len(t, warnings, 1)
	assert.Contains(t, warnings[0], "nodePortAddresses is not set")
	return n, kube
}

// asItIs is the name of a tool of the node's own.
func asItIs(name string) string { return name }

func saved(t *testing.T, n *Node) string {
	t.Helper()
	text, err := n.save(scenarios.FamilyIPv4)
	require.NoError(t, err)
	return text
}

func TestARestoreFailsAndHeals(t *testing.T) {
	n, _ := started(t, fakekernel.New(fakekernel.Options{}).Exec())
	require.NoError(t, n.fault(scenarios.Fault{RestoreFails: 2}, nil, asItIs))
	_, err := n.Run("*filter\n:MINE - [0:0]\nCOMMIT\n", "iptables-restore", "--noflush")
	require.NoError(t, err, "restores of others do not fail")
	require.ErrorContains(t, n.Sync(), "exit status 2", "both families fail with the tool's own error")
	assert.NotContains(t, saved(t, n), "default/web")
	require.NoError(t, n.Sync())
	assert.Contains(t, saved(t, n), "default/web")
}

func TestFlushedRulesAreMissed(t *testing.T) {
	n, _ := started(t, fakekernel.New(fakekernel.Options{}).Exec())
	require.NoError(t, n.Sync())
	synced := saved(t, n)
	ipv4 := []scenarios.IPFamily{scenarios.FamilyIPv4}
	require.NoError(t, n.fault(scenarios.Fault{Flush: []string{"filter", "nat", "mangle"}, Run: []string{"iptables -N MINE"}}, ipv4, asItIs))
	assert.NotContains(t, saved(t, n), "KUBE-")
	require.NoError(t, n.Sync())
	assert.Equal(t, strings.Count(synced, "-A KUBE-"), strings.Count(saved(t, n), "-A KUBE-"))
	assert.Contains(t, saved(t, n), ":MINE ")
}

func TestAFaultSaysWhatFailed(t *testing.T) {
	n, _ := started(t, fakekernel.New(fakekernel.Options{}).Exec())
	err := n.fault(scenarios.Fault{Run: []string{"iptables -t nat -F NOSUCH"}}, nil, asItIs)
	require.ErrorContains(t, err, "fault: node1: iptables -t nat -F NOSUCH: exit status 1: iptables: No chain/target/match by that name.")
	err = n.fault(scenarios.Fault{Run: []string{"nosuch -x"}}, nil, asItIs)
	require.ErrorContains(t, err, "fault: node1: nosuch -x: ")
	require.ErrorIs(t, err, exec.ErrExecutableNotFound)
}

// A node that is started again is told nothing twice, and its old proxier nothing more.
func TestStartingAnewReplacesTheProxier(t *testing.T) {
	n, kube := started(t, fakekernel.New(fakekernel.Options{}).Exec())
	require.NoError(t, n.Sync())
	old, object := n.proxy, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node1"}}
	_, err := n.Start(t.Context(), kube, &kubeproxyconfig.KubeProxyConfiguration{ClusterCIDR: "10.244.0.0/16"}, object)
	require.NoError(t, err)
	require.NoError(t, kube.Delete(t.Context(), []manifest.Ref{{Kind: "Service", Namespace: "default", Name: "web"}}))
	require.NoError(t, old.Sync())
	assert.Contains(t, saved(t, n), "default/web", "the old one does not know that the service is gone")
	require.NoError(t, n.Sync())
	assert.NotContains(t, saved(t, n), "default/web")
}

// What proxier/nfacct says of the kernel's objects over netlink, the proxier's tool
// says of the fake's; but for a name that is too long, which the tool cuts off.
func TestAccountingLikeTheKernels(t *testing.T) {
	kernel := fakekernel.New(fakekernel.Options{})
	n := New("node1", Kernel{Exec: kernel.Exec()}, NewClock())
	tool := proxier.NFAcctTool{Exec: kernel.Exec()}
	run := func(argv ...string) error {
		_, err := n.Run("", argv...)
		return err
	}
	counted, err := n.accounting()
	require.NoError(t, err)
	assert.Empty(t, counted)

	require.ErrorContains(t, run("nfacct", "get", "drops"), "No such file or directory")
	require.NoError(t, tool.Ensure("drops"))
	require.NoError(t, tool.Ensure("drops"), "it is there")
	require.ErrorContains(t, run("nfacct", "add", "drops"), "Device or resource busy")
	require.EqualError(t, tool.Ensure(""), "nfacct add : exit status 1: nfacct v1.0.2: error: Invalid argument")
	longest := strings.Repeat("x", 31)
	require.NoError(t, tool.Ensure(longest))
	require.ErrorContains(t, run("nfacct", "add", longest+"x"), "Device or resource busy", "the tool cuts the name off")
	require.NoError(t, tool.Ensure("with space"))
	require.NoError(t, run("nfacct", "add", "limited", "packet", "5"))

	kernel.Namespace().Accounts().Count("drops", 3, 180)
	kernel.Namespace().Accounts().Count("limited", 7, 280)
	require.NoError(t, tool.Ensure("drops"), "the counters stay")
	counted, err = n.accounting()
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"drops": 3, longest: 0, "with space": 0, "limited": 7}, counted)
}

// printer is a tool that prints a text, whatever it is asked.
func printer(text string) exec.Interface {
	print := func() ([]byte, []byte, error) { return []byte(text), nil, nil }
	return &testingexec.FakeExec{CommandScript: []testingexec.FakeCommandAction{func(name string, args ...string) exec.Cmd {
		return testingexec.InitFakeCmd(&testingexec.FakeCmd{RunScript: []testingexec.FakeAction{print}}, name, args...)
	}}}
}

func TestAccountingRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, text := range []string{"drops 3\n", "{ pkts = 99999999999999999999, bytes = 00000000000000000000 } = drops;\n"} {
		n := New("node1", Kernel{Exec: printer(text)}, NewClock())
		_, err := n.accounting()
		require.ErrorContains(t, err, "node1: nfacct list: ")
	}
}
