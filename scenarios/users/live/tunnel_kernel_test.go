//go:build linux

package live

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// newTunnelLab is two nodes that send to one another's pods by VXLAN, as Flannel lays it out: the client is a pod of n1 on a link with a
// route of its own, the endpoint one of n2 behind a bridge. The reverse path filter is strict.
func newTunnelLab(t *testing.T) (lab *bridgeLab, n2 *kerneltest.Namespace) {
	t.Helper()
	kerneltest.Need(t, "ip", "bridge", "sysctl", "iptables-legacy-restore", "ip6tables-legacy-restore", "nfacct", "conntrack")
	text := strings.ReplaceAll(strings.ReplaceAll(bridgeObjects, "10.244.1.5", "10.244.2.5"), "nodeName: n1, targetRef",
		"nodeName: n2, targetRef")
	text = strings.Replace(text, "name: web-1, namespace: shop}, spec: {nodeName: n1}", "name: web-1, namespace: shop}, spec: {nodeName: n2}",
		1)
	text += `---
{apiVersion: v1, kind: Node, metadata: {name: n2}, spec: {podCIDRs: [10.244.2.0/24, "fd00:244:2::/64"]},
  status: {addresses: [{type: InternalIP, address: 192.168.9.3}, {type: InternalIP, address: "fd00:9::3"}]}}
`
	objects, err := manifest.ReadObjects("objects.yaml", strings.NewReader(text))
	require.NoError(t, err)
	lab = &bridgeLab{t: t, objects: objects, node: kerneltest.New(t), pods: map[string]*kerneltest.Namespace{},
		last: map[string]string{"client": "6", "n1": "0"}}
	n2 = kerneltest.New(t)
	for _, node := range []*kerneltest.Namespace{lab.node, n2} {
		node.Must(quietly...)
		node.Must("sysctl -qw net.ipv4.ip_forward=1", "sysctl -qw net.ipv4.conf.all.rp_filter=1",
			"sysctl -qw net.bridge.bridge-nf-call-iptables=1")
	}
	lab.node.Must("ip link add eth0 type veth peer name eth0 netns " + n2.Path())
	joinByVXLAN(lab.node, "192.168.9.2", "1", "192.168.9.3", "2")
	joinByVXLAN(n2, "192.168.9.3", "2", "192.168.9.2", "1")

	client, web := kerneltest.New(t), kerneltest.New(t)
	lab.pods["client"], lab.pods["web-1"] = client, web
	client.Must(quietly...)
	web.Must(quietly...)
	lab.node.Must("ip link add veth1 type veth peer name eth0 netns "+client.Path(), "ip link set veth1 up",
		"ip route add 10.244.1.6/32 dev veth1",
		"sysctl -qw net.ipv4.conf.veth1.proxy_arp=1", "sysctl -qw net.ipv4.neigh.veth1.proxy_delay=0")
	client.Must("ip addr add 10.244.1.6/32 dev eth0", "ip link set eth0 up", "ip route add 169.254.1.1/32 dev eth0",
		"ip route add default via 169.254.1.1")
	n2.Must("ip link add cni0 type bridge forward_delay 0 mcast_snooping 0", "ip addr add 10.244.2.1/24 dev cni0", "ip link set cni0 up",
		"ip link add veth1 type veth peer name eth0 netns "+web.Path(), "ip link set veth1 master cni0 up",
		"ip link set veth1 type bridge_slave hairpin on")
	web.Must("ip addr add 10.244.2.5/24 dev eth0", "ip link set eth0 up", "ip route add default via 10.244.2.1")
	lab.sync("n1", lab.node)
	lab.sync("n2", n2)
	lab.serve()
	lab.settle("10.244.2.5:8080")
	return lab, n2
}

// joinByVXLAN gives a node its address, and its end of the tunnel to the other one.
func joinByVXLAN(node *kerneltest.Namespace, own, net, other, otherNet string) {
	mac := func(net string) string { return "02:00:00:00:00:0" + net }
	node.Must("ip addr add "+own+"/24 dev eth0", "ip link set eth0 up", "ip route add default via 192.168.9.1",
		"ip link add flannel.1 address "+mac(net)+" mtu 1450 type vxlan id 1 dstport 8472 local "+own+" nolearning",
		"ip addr add 10.244."+net+".0/32 dev flannel.1", "ip link set flannel.1 up",
		"ip route add 10.244."+otherNet+".0/24 via 10.244."+otherNet+".0 dev flannel.1 onlink",
		"ip neigh replace 10.244."+otherNet+".0 lladdr "+mac(otherNet)+" dev flannel.1 nud permanent",
		"bridge fdb append "+mac(otherNet)+" dev flannel.1 dst "+other)
}

// TestTunnelledConnectionsAsKernel: connections between the pods of two nodes come together by VXLAN while the nodes' tables say who is
// behind the tunnel. What is followed through snapshots of both nodes, and of one, says the same as real ones do.
func TestTunnelledConnectionsAsKernel(t *testing.T) {
	lab, n2 := newTunnelLab(t)
	for _, state := range []struct {
		name, command string
		answered      bool
	}{
		{"as it should be", "ip link set lo up", true},
		{"without the entry of the forwarding database", "bridge fdb del 02:00:00:00:00:02 dev flannel.1 dst 192.168.9.3", false},
	} {
		lab.node.Must(state.command)
		for _, from := range []string{"client", "n1"} {
			for _, target := range []string{"10.96.0.10:80", "10.244.2.5:8080"} {
				for _, proto := range []string{"tcp", "udp"} {
					to, about := netip.MustParseAddrPort(target), state.name+": "+from+" "+proto+" "+target
					really := lab.call(from, proto, to)
					assert.Equal(t, state.answered, really != noAnswer, about)
					first, second := takeOf(t, "n1", lab.node), takeOf(t, "n2", n2)
					both, c := lab.foretold(from, proto, to, first, second)
					assert.Equal(t, really, both, "%s: %s", about, c.Why)
					one, c := lab.foretold(from, proto, to, first)
					assert.Equal(t, really, one, "%s, one snapshot: %s", about, c.Why)
				}
			}
		}
	}
}
