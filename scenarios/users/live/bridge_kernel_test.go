//go:build linux

package live

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// bridgeObjects are a service whose one endpoint and one client are pods of one node.
const bridgeObjects = `{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {podCIDRs: [10.244.1.0/24, "fd00:244:1::/64"]},
  status: {addresses: [{type: InternalIP, address: 192.168.9.2}, {type: InternalIP, address: "fd00:9::2"}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop}, spec: {nodeName: n1},
  status: {podIP: 10.244.1.5, podIPs: [{ip: 10.244.1.5}, {ip: "fd00:244:1::5"}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: client, namespace: shop}, spec: {nodeName: n1},
  status: {podIP: 10.244.1.6, podIPs: [{ip: 10.244.1.6}, {ip: "fd00:244:1::6"}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {clusterIPs: [10.96.0.10, "fd00:96::10"], clusterIP: 10.96.0.10,
  ipFamilies: [IPv4, IPv6], ipFamilyPolicy: RequireDualStack,
  ports: [{name: http, port: 80, targetPort: 8080}, {name: ask, port: 80, protocol: UDP, targetPort: 8080}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-4, namespace: shop, labels: {kubernetes.io/service-name: web}},
  addressType: IPv4, ports: [{name: http, port: 8080}, {name: ask, port: 8080, protocol: UDP}],
  endpoints: [{addresses: [10.244.1.5], nodeName: n1, targetRef: {kind: Pod, name: web-1, namespace: shop}}]}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-6, namespace: shop, labels: {kubernetes.io/service-name: web}},
  addressType: IPv6, ports: [{name: http, port: 8080}, {name: ask, port: 8080, protocol: UDP}],
  endpoints: [{addresses: ["fd00:244:1::5"], nodeName: n1, targetRef: {kind: Pod, name: web-1, namespace: shop}}]}
`

// bridgeLab is the node of bridgeObjects on this machine's kernel: a bridge as the bridge plugin of CNI makes it, a veth to each pod, and
// the rules that kube-proxy writes.
type bridgeLab struct {
	t       *testing.T
	objects []manifest.Object
	node    *kerneltest.Namespace
	pods    map[string]*kerneltest.Namespace
	last    map[string]string // numbers of the addresses that clients have
}

func newBridgeLab(t *testing.T) *bridgeLab {
	t.Helper()
	kerneltest.Need(t, "ip", "bridge", "sysctl", "iptables-legacy-restore", "ip6tables-legacy-restore", "nfacct", "conntrack")
	lab := &bridgeLab{t: t, node: kerneltest.New(t), pods: map[string]*kerneltest.Namespace{},
		last: map[string]string{"web-1": "5", "client": "6", "n1": "1"}}
	objects, err := manifest.ReadObjects("objects.yaml", strings.NewReader(bridgeObjects))
	require.NoError(t, err)
	lab.objects = objects
	lab.node.Must(quietly...)
	lab.node.Must("sysctl -qw net.ipv4.ip_forward=1", "sysctl -qw net.ipv6.conf.all.forwarding=1",
		"ip link add cni0 type bridge forward_delay 0 mcast_snooping 0", "ip addr add 10.244.1.1/24 dev cni0",
		"ip addr add fd00:244:1::1/64 dev cni0 nodad", "ip link set cni0 up",
		"ip link add eth0 type veth peer name wire0", "ip link set wire0 up", "ip addr add 192.168.9.2/24 dev eth0",
		"ip addr add fd00:9::2/64 dev eth0 nodad", "ip link set eth0 up", "ip route add default via 192.168.9.1",
		"ip -6 route add default via fd00:9::1")
	for i, name := range []string{"web-1", "client"} {
		pod := kerneltest.New(t)
		lab.pods[name] = pod
		pod.Must(quietly...)
		lab.node.Must(fmt.Sprintf("ip link add veth%d type veth peer name eth0 netns %s", i+1, pod.Path()),
			fmt.Sprintf("ip link set veth%d master cni0 up", i+1))
		pod.Must(fmt.Sprintf("ip addr add 10.244.1.%d/24 dev eth0", i+5), fmt.Sprintf("ip addr add fd00:244:1::%d/64 dev eth0 nodad", i+5),
			"ip link set eth0 up", "ip route add default via 10.244.1.1", "ip -6 route add default via fd00:244:1::1")
	}
	lab.sync("n1", lab.node)
	lab.serve()
	lab.settle("10.244.1.5:8080")
	return lab
}

// quietly has a namespace send nothing of its own accord.
var quietly = []string{"sysctl -qw net.ipv6.conf.default.accept_dad=0", "sysctl -qw net.ipv6.conf.default.router_solicitations=0",
	"ip link set lo up"}

// sync has the kernel of a node hold what kube-proxy writes there.
func (lab *bridgeLab) sync(name string, space *kerneltest.Namespace) {
	nodes := (&Cluster{Objects: lab.objects}).nodes()
	at := slices.IndexFunc(nodes, func(n *corev1.Node) bool { return n.Name == name })
	config := &kubeproxyconfig.KubeProxyConfiguration{ClusterCIDR: "10.244.0.0/16,fd00:244::/32", HostnameOverride: name}
	rules, err := sim.Rules(sim.RulesInput{Objects: lab.objects, Configuration: config, Node: nodes[at], Dialect: netfilter.Legacy})
	require.NoError(lab.t, err)
	space.Must("nfacct add ct_state_invalid_dropped_pkts", "nfacct add localhost_nps_accepted_pkts")
	for family, tool := range map[netfilter.Family]string{netfilter.IPv4: "iptables-legacy-restore",
		netfilter.IPv6: "ip6tables-legacy-restore"} {
		var text bytes.Buffer
		require.NoError(lab.t, rules.Save(family, &text))
		space.Feed(text.String(), tool)
	}
}

// serve has web-1 answer on port 8080 with the address that it knows its client by.
func (lab *bridgeLab) serve() {
	lab.pods["web-1"].Do(func() {
		listener, err := net.Listen("tcp", "[::]:8080")
		require.NoError(lab.t, err)
		socket, err := net.ListenPacket("udp", "[::]:8080")
		require.NoError(lab.t, err)
		lab.t.Cleanup(func() { _, _ = listener.Close(), socket.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, hostOf(conn.RemoteAddr()))
				_ = conn.Close()
			}
		}()
		go func() {
			buf := make([]byte, 100)
			for {
				_, from, err := socket.ReadFrom(buf)
				if err != nil {
					return
				}
				_, _ = socket.WriteTo([]byte(hostOf(from)), from)
			}
		}()
	})
}

func hostOf(a net.Addr) string {
	return netip.MustParseAddrPort(a.String()).Addr().Unmap().String()
}

// unanswered is how long a client waits.
const unanswered = 700 * time.Millisecond

// noAnswer is what a client says that hears nothing from the address that it called.
const noAnswer = "no answer"

// call connects for real: the address that the server knows the client by, or noAnswer.
func (lab *bridgeLab) call(from, proto string, to netip.AddrPort) string {
	space := lab.node
	if from != "n1" {
		space = lab.pods[from]
	}
	answer := noAnswer
	space.Do(func() {
		conn, err := net.DialTimeout(proto, to.String(), unanswered)
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(unanswered))
		if proto == "udp" {
			_, _ = io.WriteString(conn, "who am I?")
		}
		buf := make([]byte, 100)
		if n, err := conn.Read(buf); err == nil {
			answer = string(buf[:n])
		}
	})
	return answer
}

// settle waits until the client's connections to an endpoint are answered. The kernel brings devices up in a work queue, and drops what is
// sent before that.
func (lab *bridgeLab) settle(endpoint string) {
	for range 20 {
		if lab.call("client", "tcp", netip.MustParseAddrPort(endpoint)) != noAnswer {
			return
		}
	}
	require.Fail(lab.t, "nothing answers at "+endpoint)
}

// take is the node as it is, without the connections that it has come to know. Of one that has forgotten its pods no neighbours are known.
func (lab *bridgeLab) take(forgetful bool) *snapshot.NodeSnapshot {
	taken := takeOf(lab.t, "n1", lab.node)
	for i := range taken.Devices {
		if forgetful {
			taken.Devices[i].Neighbours = nil
		}
	}
	return taken
}

// takeOf is a node as it is, without the connections that it has come to know.
func takeOf(t *testing.T, name string, space *kerneltest.Namespace) *snapshot.NodeSnapshot {
	space.Must("conntrack -F")
	var taken *snapshot.NodeSnapshot
	space.Do(func() {
		var err error
		taken, err = snapshot.Take(t.Context(), space.Exec())
		require.NoError(t, err)
	})
	taken.Hostname = name
	return taken
}

// foretold is what is followed of the same connection.
func (lab *bridgeLab) foretold(from, proto string, to netip.AddrPort, taken ...*snapshot.NodeSnapshot) (string, *network.Connection) {
	cluster := &Cluster{Objects: lab.objects, Snapshots: taken}
	in := lab.firstPacket(from, proto, to)
	view, err := cluster.View(in.Src, in.Dst)
	require.NoError(lab.t, err)
	followed, err := view.Follow(in, "n1")
	require.NoError(lab.t, err)
	require.Len(lab.t, followed.Connections, 1)
	c := &followed.Connections[0]
	if c.Made {
		return c.Client.Addr().String(), c
	}
	return noAnswer, c
}

// traced is what the node alone does with the same packet, and with the answer.
func (lab *bridgeLab) traced(taken *snapshot.NodeSnapshot, from, proto string, to netip.AddrPort) packetsim.Outcome {
	in := lab.firstPacket(from, proto, to)
	placed := (&Cluster{Objects: lab.objects}).Place(taken, netip.Addr{})
	if in.In = placed.Pods["shop/"+from]; in.In == "" {
		in.Local = true
	}
	result, err := placed.Trace(in, snapshot.HostOptions{}, packetsim.WalkOptions{Back: true})
	require.NoError(lab.t, err)
	require.Len(lab.t, result.Outcomes, 1)
	return result.Outcomes[0]
}

func (lab *bridgeLab) firstPacket(from, proto string, to netip.AddrPort) inet.Input {
	in := inet.Input{Packet: inet.Packet{Proto: inet.TCP, Src: lab.addressOf(from, to.Addr().Is6()), Dst: to.Addr(), SrcPort: 40000,
		DstPort: to.Port(), TCPFlags: inet.SYN}}
	if proto == "udp" {
		in.Proto, in.TCPFlags = inet.UDP, 0
	}
	return in
}

// addressOf is who calls: a pod, or the node by its address where its pods are.
func (lab *bridgeLab) addressOf(from string, v6 bool) netip.Addr {
	last := lab.last[from]
	if v6 {
		return netip.MustParseAddr("fd00:244:1::" + last)
	}
	return netip.MustParseAddr("10.244.1." + last)
}

// agree makes a connection, holds to it what is followed, whether or not the node has forgotten its pods, and says what came of it.
func (lab *bridgeLab) agree(about, from, proto string, to netip.AddrPort) string {
	really := lab.call(from, proto, to)
	for _, forgetful := range []bool{false, true} {
		taken := lab.take(forgetful)
		told, c := lab.foretold(from, proto, to, taken)
		assert.Equal(lab.t, really, told, "%s, forgetful %t: %s", about, forgetful, c.Why)
		if lab.addressOf(from, to.Addr().Is6()) == to.Addr() {
			continue // it does not come to the node
		}
		o := lab.traced(taken, from, proto, to)
		assert.Equal(lab.t, really != noAnswer, o.Back != nil && o.Back.Heard, "%s, forgetful %t, on the node: %s", about, forgetful, o.Summary())
	}
	return really
}

// TestBridgedRepliesAsKernel: whether a client and an endpoint behind one bridge come together hangs on what br_netfilter shows the rules
// and on hairpin mode. What is followed through a snapshot of the node says the same as real connections do.
func TestBridgedRepliesAsKernel(t *testing.T) {
	lab := newBridgeLab(t)
	unanswered := 0
	for _, to := range []string{"10.244.1.77:8080", "[fd00:244:1::77]:8080"} {
		assert.Equal(t, noAnswer, lab.agree("an address that no pod has: "+to, "client", "tcp", netip.MustParseAddrPort(to)))
	}
	for _, calls := range [][2]string{{"1", "1"}, {"0", "0"}, {"1", "0"}} {
		for _, hairpin := range []string{"on", "off"} {
			lab.node.Must("sysctl -qw net.bridge.bridge-nf-call-iptables="+calls[0], "sysctl -qw net.bridge.bridge-nf-call-ip6tables="+calls[1],
				"ip link set veth1 type bridge_slave hairpin "+hairpin, "ip link set veth2 type bridge_slave hairpin "+hairpin)
			for _, from := range []string{"client", "web-1", "n1"} {
				for _, to := range []string{"10.96.0.10:80", "[fd00:96::10]:80", "10.244.1.5:8080", "[fd00:244:1::5]:8080"} {
					for _, proto := range []string{"tcp", "udp"} {
						about := fmt.Sprintf("bridge-nf %s, hairpin %s: %s calls %s %s", calls, hairpin, from, proto, to)
						if lab.agree(about, from, proto, netip.MustParseAddrPort(to)) == noAnswer {
							unanswered++
						}
					}
				}
			}
		}
	}
	assert.Equal(t, 8+4+2+4, unanswered,
		"of the client where rules do not see frames, and of the endpoint itself where they do without hairpin mode")
}
