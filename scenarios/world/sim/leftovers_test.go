package sim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/iptables"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/api"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

const leftoversObjects = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  type: LoadBalancer
  clusterIP: 172.30.0.41
  clusterIPs: [172.30.0.41, "fd00:172:30::41"]
  ipFamilies: [IPv4, IPv6]
  externalTrafficPolicy: Local
  healthCheckNodePort: 30099
  loadBalancerSourceRanges: [203.0.113.0/25, "2001:db8::/32"]
  sessionAffinity: ClientIP
  ports: [{port: 80, targetPort: 8080, nodePort: 30080}]
status: {loadBalancer: {ingress: [{ip: 1.2.3.4}, {ip: "2001:db8:1::4"}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-4, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.244.1.2], nodeName: node1}, {addresses: [10.244.2.2], nodeName: node2}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-6, labels: {kubernetes.io/service-name: web}}
addressType: IPv6
ports: [{port: 8080}]
endpoints: [{addresses: ["fd00:10:244:1::2"], nodeName: node1}]
---
{apiVersion: v1, kind: Service, metadata: {name: empty}, spec: {clusterIP: 172.30.0.42, ports: [{port: 80}]}}
`

// foreignRules are the kubelet's, a network plugin's and an administrator's.
const foreignRules = `*mangle
:KUBE-KUBELET-CANARY - [0:0]
COMMIT
*nat
:KUBE-KUBELET-CANARY - [0:0]
:KUBE-MARK-DROP - [0:0]
:plugin - [0:0]
-A KUBE-MARK-DROP -j MARK --or-mark 0x8000
-A OUTPUT -m comment --comment "plugin -j KUBE-SERVICES" -j plugin
-A plugin -p tcp -m tcp --dport 99 -j REDIRECT --to-ports 98
COMMIT
*filter
:INPUT DROP [0:0]
:KUBE-FIREWALL - [0:0]
:KUBE-KUBELET-CANARY - [0:0]
-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
COMMIT
`

// kubeletHooks are made by the proxier too, if they are not there.
const kubeletHooks = `*filter
:KUBE-FIREWALL - [0:0]
-A INPUT -j KUBE-FIREWALL
-A OUTPUT -j KUBE-FIREWALL
COMMIT
`

// TestLeftoversAreRemoved syncs a proxier beside the rules of others, and cleans up: the rules of others stay, in their order.
func TestLeftoversAreRemoved(t *testing.T) {
	for _, dialect := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		t.Run(fmt.Sprint(dialect), func(t *testing.T) {
			n, kernel := syncedNode(t, dialect)
			var families []proxier.Rules
			for _, protocol := range []iptables.Protocol{iptables.ProtocolIPv4, iptables.ProtocolIPv6} {
				runner, err := iptables.New(kernel.Exec, protocol, iptables.Options{})
				require.NoError(t, err)
				families = append(families, proxier.IPTables{Tools: runner})
			}
			withProxy := savedRules(t, kernel.Exec)
			for _, chain := range []string{"KUBE-SVC-", "KUBE-SVL-", "KUBE-EXT-", "KUBE-FW-", "KUBE-SEP-", "KUBE-PROXY-CANARY", "KUBE-POSTROUTING"} {
				require.Contains(t, withProxy, chain)
			}
			for round := range 2 {
				assert.False(t, proxier.Cleanup(klog.Background(), families...), "round %d", round)
				assert.Equal(t, foreignOnly(t, dialect), savedRules(t, kernel.Exec), "round %d", round)
			}
			require.NoError(t, n.Sync(), "a proxier can start again")
		})
	}
}

// syncedNode is a node with the rules of others on which a proxier has synced.
func syncedNode(t *testing.T, dialect netfilter.Dialect) (*node.Node, node.Kernel) {
	objects, err := manifest.ReadObjects("leftovers.yaml", strings.NewReader(leftoversObjects))
	require.NoError(t, err)
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node1"}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: "192.168.0.2"}, {Type: corev1.NodeInternalIP, Address: "2001:db8::1"}}}}
	kube, err := api.New(t.Context(), append(objects, manifest.Object{Object: object}), klog.Logger{})
	require.NoError(t, err)
	clock := node.NewClock()
	kernel, err := loneKernel(RulesInput{Node: object, Dialect: dialect}, clock)
	require.NoError(t, err)
	n := node.New(object.Name, kernel, clock)
	_, err = n.Start(t.Context(), kube, &kubeproxyconfig.KubeProxyConfiguration{ClusterCIDR: "10.244.0.0/16,fd00:10:244::/56"}, object)
	require.NoError(t, err)
	require.NoError(t, n.Sync())
	restoreBoth(t, kernel.Exec, foreignRules)
	return n, kernel
}

func restoreBoth(t *testing.T, on exec.Interface, rules string) {
	for _, tool := range []string{"iptables-restore", "ip6tables-restore"} {
		_, err := tools.Run(on, rules, tool, "--noflush")
		require.NoError(t, err)
	}
}

// foreignOnly is what is saved of a node that has never had a proxier.
func foreignOnly(t *testing.T, dialect netfilter.Dialect) string {
	fresh := fakekernel.New(fakekernel.Options{Dialect: dialect}).Exec()
	restoreBoth(t, fresh, kubeletHooks+foreignRules)
	return savedRules(t, fresh)
}

// savedRules are the rules and chains of both families, without the comments and what the proxier leaves in KUBE-FIREWALL,
// which the kubelet fills in alike.
func savedRules(t *testing.T, on exec.Interface) string {
	var kept strings.Builder
	for _, tool := range []string{"iptables-save", "ip6tables-save"} {
		for _, table := range []string{"nat", "filter", "mangle"} {
			text, err := tools.Run(on, "", tool, "-t", table)
			require.NoError(t, err)
			for line := range strings.Lines(text) {
				if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "-A KUBE-FIREWALL ") {
					kept.WriteString(line)
				}
			}
		}
	}
	return kept.String()
}
