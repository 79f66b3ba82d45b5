package main

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// bridgeObjects are a node with two pods, of which one serves.
const bridgeObjects = `{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {podCIDRs: [10.244.1.0/24]},
  status: {addresses: [{type: InternalIP, address: 192.168.9.2}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop}, spec: {nodeName: n1}, status: {podIP: 10.244.1.5, podIPs: [{ip: 10.244.1.5}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: client, namespace: shop}, spec: {nodeName: n1}, status: {podIP: 10.244.1.6, podIPs: [{ip: 10.244.1.6}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {clusterIPs: [10.96.0.10], clusterIP: 10.96.0.10,
  ports: [{name: http, port: 80, targetPort: 8080}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-4, namespace: shop, labels: {kubernetes.io/service-name: web}},
  addressType: IPv4, ports: [{name: http, port: 8080}],
  endpoints: [{addresses: [10.244.1.5], nodeName: n1, targetRef: {kind: Pod, name: web-1, namespace: shop}}]}
`

// bridgeNode is that node with a bridge, whose ports are in hairpin mode or not. Its tables know nobody.
func bridgeNode(t *testing.T, calls string, hairpins ...bool) *snapshot.NodeSnapshot {
	status, rules, errOut := call(bridgeObjects, "rules", "-f", "-", "--cluster-cidr", "10.244.0.0/16", "--family", "4")
	require.Equal(t, exitHeld, status, errOut)
	prefix := netip.MustParsePrefix
	node := &snapshot.NodeSnapshot{
		Version: snapshot.Version, Hostname: "n1",
		Devices: []snapshot.Device{
			{Name: "eth0", Index: 2, Up: true, Addresses: []snapshot.Address{{Prefix: prefix("192.168.9.2/24")}}},
			{Name: "cni0", Index: 3, Kind: "bridge", Up: true, Addresses: []snapshot.Address{{Prefix: prefix("10.244.1.1/24")}}},
		},
		Routes: []snapshot.Route{
			{Dst: prefix("0.0.0.0/0"), Via: netip.MustParseAddr("192.168.9.1"), Dev: "eth0", Table: packetsim.TableMain},
			{Dst: prefix("192.168.9.0/24"), Dev: "eth0", Table: packetsim.TableMain},
			{Dst: prefix("10.244.1.0/24"), Dev: "cni0", Table: packetsim.TableMain},
			{Dst: prefix("10.244.1.1/32"), Dev: "cni0", Type: packetsim.RouteLocal, Table: packetsim.TableLocal},
		},
		Sysctls:  map[string]string{"net.ipv4.ip_forward": "1", "net.bridge.bridge-nf-call-iptables": calls},
		IPTables: []snapshot.Rules{{Dialect: netfilter.Legacy, Family: netfilter.IPv4, Save: rules}},
		NFAcct:   []snapshot.NFAcct{{Name: "ct_state_invalid_dropped_pkts"}, {Name: "localhost_nps_accepted_pkts"}},
	}
	for i, hairpin := range hairpins {
		node.Devices = append(node.Devices,
			snapshot.Device{Name: "veth" + string(rune('1'+i)), Index: i + 4, Master: "cni0", Up: true, Hairpin: hairpin})
	}
	return node
}

// traceBridge is the text of a trace on that node.
func traceBridge(t *testing.T, node *snapshot.NodeSnapshot, packet string, flags ...string) string {
	var text bytes.Buffer
	require.NoError(t, node.Write(&text, snapshot.YAML))
	path, objects := write(t, "n1.yaml", text.String()), write(t, "objects.yaml", bridgeObjects)
	_, out, errOut := call("", append([]string{"trace", "--node", path, "--objects", objects, packet}, flags...)...)
	assert.Empty(t, errOut)
	for _, word := range []string{"Neighbours", "Socket", "Groups", "Device."} {
		assert.NotContains(t, out, word, "a message of the command line names no field")
	}
	return out
}

// TestTraceOfAPodBeginsAtItsPort: a pod is behind a port of the node's bridge, also where the tables do not know it, and its answer comes
// back the way that the bridge has for it.
func TestTraceOfAPodBeginsAtItsPort(t *testing.T) {
	for _, tc := range []struct {
		name, calls, packet string
		hairpins            []bool
		sentence            string
		has, lacks          []string
	}{
		{"an endpoint calls itself", "1", "tcp pod/shop/web-1:40000 > svc/shop/web:http", []bool{false, false},
			"shop/web:http -> 10.244.1.5:8080 (pod shop/web-1), then dropped: port veth1 is not in hairpin mode", nil, []string{"note:"}},
		{"an endpoint calls itself, in hairpin mode", "1", "tcp pod/shop/web-1:40000 > svc/shop/web:http", []bool{true, true},
			"shop/web:http -> 10.244.1.5:8080 (pod shop/web-1), masqueraded as 10.244.1.1, forwarded by cni0 to 10.244.1.5",
			[]string{"the answer comes back by veth1"}, []string{"note:"}},
		{"rules see frames", "1", "tcp pod/shop/client:40000 > svc/shop/web:http", []bool{false, false},
			"shop/web:http -> 10.244.1.5:8080 (pod shop/web-1), source kept, forwarded by cni0 to 10.244.1.5",
			[]string{"the answer comes back by veth1"}, []string{"note:"}},
		{"rules do not see frames", "0", "tcp pod/shop/client:40000 > svc/shop/web:http", []bool{false, false},
			"shop/web:http -> 10.244.1.5:8080 (pod shop/web-1), then forwarded by cni0 to 10.244.1.5, " +
				"but the answer comes from 10.244.1.5:8080, and 10.96.0.10:80 was called",
			[]string{"\nCW204: Client and endpoint are behind one bridge of n1",
				"note: 10.244.1.5 is taken to have 10.244.1.0/24 on its link, as cni0 has, and so to answer 10.244.1.6 directly"}, nil},
		{"the bridge has no ports", "1", "tcp pod/shop/web-1:40000 > svc/shop/web:http", nil,
			"shop/web:http -> 10.244.1.5:8080 (pod shop/web-1), masqueraded as 10.244.1.1, forwarded by cni0 to 10.244.1.5",
			[]string{
				"note: no port of cni0 on n1 is known to lead to shop/web-1: what it sends is taken to begin at the bridge, and hairpin mode is not " +
					"looked at"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := traceBridge(t, bridgeNode(t, tc.calls, tc.hairpins...), tc.packet)
			sentence, _, _ := strings.Cut(out, "\n")
			assert.Equal(t, tc.sentence, sentence)
			for _, text := range tc.has {
				assert.Contains(t, out, text)
			}
			for _, text := range tc.lacks {
				assert.NotContains(t, out, text)
			}
		})
	}
}

// TestTraceOfAnAddressBehindAPort: the port that the tables know an address behind need not be named.
func TestTraceOfAnAddressBehindAPort(t *testing.T) {
	node := bridgeNode(t, "1", false, false)
	node.Devices[3].Neighbours = []netip.Addr{netip.MustParseAddr("10.244.1.77")}
	out := traceBridge(t, node, "tcp 10.244.1.77:40000 > 10.96.0.10:80")
	assert.Contains(t, out, "packet: tcp 10.244.1.77:40000 > 10.96.0.10:80 in veth2")
}

// TestTraceDoubtsAPortThatIsAssumed: where the free ports differ in hairpin mode and it decides, the answer is in doubt.
func TestTraceDoubtsAPortThatIsAssumed(t *testing.T) {
	out := traceBridge(t, bridgeNode(t, "1", false, true), "tcp pod/shop/web-1:40000 > svc/shop/web:http", "-o", "json")
	assert.Contains(t, out, `"kind": "assumed"`)
	assert.Contains(t, out, "which port of cni0 on n1 leads to shop/web-1 is not known: taken to be one with hairpin mode off")
}
