package snapshot

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// plainNode forwards from the bridge cni0, behind whose port veth1 a pod is, to eth0, and accepts everything but what the pod sends to port
// 9999.
const plainNode = `version: 1
hostname: node1
devices:
- {name: lo, index: 1, kind: loopback, up: true, addresses: [{address: 127.0.0.1/8, scope: host}]}
- {name: eth0, index: 2, up: true, addresses: [{address: 192.168.0.2/24, scope: global}, {address: "fd00::2/64", scope: global}]}
- {name: cni0, index: 3, kind: bridge, up: true, addresses: [{address: 10.244.0.1/24, scope: global}]}
- {name: veth1, index: 4, kind: veth, up: true, master: cni0, neighbours: [10.244.0.11]}
- {name: eth1, index: 5, up: true, addresses: [{address: 192.168.1.2/24, scope: global}]}
routes:
- {dst: 0.0.0.0/0, via: 192.168.0.1, dev: eth0, table: 254}
- {dst: 10.244.0.0/24, dev: cni0, table: 254, scope: link}
- {dst: 192.168.0.2/32, type: local, dev: eth0, table: 255, scope: host}
- {dst: 10.244.0.1/32, type: local, dev: cni0, table: 255, scope: host}
- {dst: 127.0.0.0/8, type: local, dev: lo, table: 255, scope: host}
- {dst: "::/0", via: "fd00::1", dev: eth0, table: 254}
iptables:
- backend: legacy
  family: 4
  save: |
    *filter
    :INPUT ACCEPT [0:0]
    :FORWARD ACCEPT [0:0]
    :OUTPUT ACCEPT [0:0]
    -A FORWARD -p tcp -m tcp --dport 9999 -j DROP
    -A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
    COMMIT
`

// known are the settings of a node that were all taken.
const known = `sysctls: {net.ipv4.ip_forward: "1", net.ipv6.conf.all.forwarding: "1", net.bridge.bridge-nf-call-iptables: "1"}
`

// doubtsOf traces a packet through plainNode with more lines of its document.
func doubtsOf(t *testing.T, more, packet string) packetsim.TraceResult {
	t.Helper()
	s, err := Read("node1", strings.NewReader(plainNode+more))
	require.NoError(t, err)
	in, err := inet.ParseInput(packet)
	require.NoError(t, err)
	result, err := s.Trace(in, HostOptions{}, packetsim.WalkOptions{})
	require.NoError(t, err)
	return result
}

func unlesses(doubts []packetsim.Doubt) []string {
	var all []string
	for _, d := range doubts {
		all = append(all, d.Unless)
	}
	return all
}

const (
	fromPod  = "tcp 10.244.0.11:40000 > 10.9.0.1:80 in veth1"
	fromWire = "tcp 10.8.0.1:40000 > 10.244.0.11:80 in eth0"
	toNode   = "tcp 10.8.0.1:40000 > 192.168.0.2:22 in eth0"
	stopped  = "tcp 10.244.0.11:40000 > 10.9.0.1:9999 in veth1"
)

// TestDoubtsAboutNativeTables: a chain is a doubt where the packet comes to it, and where it can change what becomes of it.
func TestDoubtsAboutNativeTables(t *testing.T) {
	for _, row := range []struct{ name, table, packet, want string }{
		{"what only counts", "{family: inet, name: fw, chains: [{name: c, hook: forward, priority: 0, type: filter, may: [pass]}]}", fromPod, ""},
		{"an unknown effect", "{family: inet, name: fw, chains: [{name: c, hook: forward, priority: 0}]}", fromPod, "stops or changes it"},
		{"what drops", "{family: inet, name: fw, chains: [{name: c, hook: forward, priority: 0, may: [drop]}]}", fromPod, "drops it"},
		{"what drops or rejects", "{family: ip, name: fw, chains: [{name: c, hook: forward, priority: 0, may: [drop, reject]}]}", fromPod,
			"drops or rejects it"},
		{"what drops, in another hook", "{family: inet, name: fw, chains: [{name: c, hook: input, priority: 0, may: [drop]}]}", fromPod, ""},
		{"what drops, in the hook", "{family: inet, name: fw, chains: [{name: c, hook: input, priority: 0, may: [drop]}]}", toNode, "drops it"},
		{"what drops IPv6", "{family: ip6, name: fw, chains: [{name: c, hook: forward, priority: 0, may: [drop]}]}", fromPod, ""},
		{"what drops a packet that is dropped", "{family: inet, name: fw, chains: [{name: c, hook: forward, priority: 0, may: [drop]}]}", stopped,
			""},
		{"what changes a packet that is dropped", "{family: inet, name: fw, chains: [{name: c, hook: forward, priority: 0, may: [change]}]}",
			stopped, "changes it"},
		{"what translates", "{family: ip, name: fw, chains: [{name: c, hook: prerouting, priority: -100, type: nat, may: [translate]}]}", fromPod,
			"translates it"},
		{"by another device", "{family: netdev, name: fw, chains: [{name: c, hook: ingress, priority: 0, device: eth1, may: [drop]}]}", fromWire,
			""},
		{"by the device", "{family: netdev, name: fw, chains: [{name: c, hook: ingress, priority: 0, device: eth0, may: [drop]}]}", fromWire,
			"drops it"},
		{"frames of a bridge", "{family: bridge, name: fw, chains: [{name: c, hook: forward, priority: 0, may: [drop]}]}", fromPod, "drops it"},
		{"frames of no bridge", "{family: bridge, name: fw, chains: [{name: c, hook: forward, priority: 0, may: [drop]}]}", toNode, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			doubts := doubtsOf(t, known+"nftables: ["+row.table+"]\n", row.packet).Doubts
			if row.want == "" {
				assert.Empty(t, doubts)
				return
			}
			require.Len(t, doubts, 1)
			assert.Equal(t, packetsim.DoubtNFTables, doubts[0].Kind)
			assert.Contains(t, doubts[0].Unless, " fw "+row.want+" (chain c in ")
			assert.Contains(t, doubts[0].See, "nft list table ")
		})
	}
}

// TestNATChainsMeetFirstPacketsOnly: what is known of a connection is translated by its entry.
func TestNATChainsMeetFirstPacketsOnly(t *testing.T) {
	const table = known +
		"nftables: [{family: ip, name: fw, chains: [{name: c, hook: prerouting, priority: -100, type: nat, may: [translate]}]}]\n"
	assert.Len(t, doubtsOf(t, table, "udp 10.244.0.11:40000 > 10.9.0.1:53 in veth1").Doubts, 1)
	assert.Empty(t, doubtsOf(t, table+`conntrack:
- original: {proto: udp, src: 10.244.0.11, sport: 40000, dst: 10.9.0.1, dport: 53}
  reply: {proto: udp, src: 10.9.0.1, sport: 53, dst: 10.244.0.11, dport: 40000}
  timeout: 30
  replied: true
`, "udp 10.244.0.11:40000 > 10.9.0.1:53 in veth1").Doubts)
}

// TestDoubtsAboutSettings: missing settings get the values of a Kubernetes node, and the doubt says what the other value would change.
func TestDoubtsAboutSettings(t *testing.T) {
	const lacking = "unread: [{what: sysctls, why: no file}]\n"
	for _, row := range []struct {
		name, more, packet string
		verdict            packetsim.Verdict
		want               []string
	}{
		{"all is known", known, fromPod, packetsim.Accept, nil},
		{"off, as is known", `sysctls: {net.ipv4.ip_forward: "0"}` + "\n" + lacking, fromWire, packetsim.Drop, nil},
		{"forwarded", lacking, fromPod, packetsim.Accept, []string{"net.ipv4.ip_forward is 0"}},
		{"one of them is known", `sysctls: {net.ipv4.ip_forward: "1"}` + "\n" + lacking, fromPod, packetsim.Accept, nil},
		{"to the node", lacking, toNode, packetsim.Accept, nil},
		{"a way back by another device", lacking, "tcp 10.8.0.1:40000 > 192.168.0.2:22 in eth1", packetsim.Accept,
			[]string{"net.ipv4.conf.all.rp_filter is 1"}},
		{"to a loopback address", lacking, "tcp 10.8.0.1:40000 > 127.0.0.1:22 in eth0", packetsim.Accept, // kube-proxy sets it
			[]string{"net.ipv4.conf.all.route_localnet is 0"}},
		{"of IPv6", lacking, "tcp [fd01::1]:40000 > [fd02::1]:80 in eth0", packetsim.Accept, []string{"net.ipv6.conf.all.forwarding is 0"}},
		{"which a rule drops", lacking, stopped, packetsim.Drop, []string{"net.ipv4.ip_forward is 0"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			result := doubtsOf(t, row.more, row.packet)
			assert.Equal(t, row.verdict, result.Outcomes[0].Verdict, result.Outcomes[0].Why)
			assert.Equal(t, row.want, unlesses(result.Doubts))
			for _, d := range result.Doubts {
				assert.Equal(t, packetsim.Doubt{Kind: packetsim.DoubtUnread, Unless: d.Unless, See: "sysctl -a > sysctl"}, d)
			}
		})
	}
}

// TestDoubtsAboutWhatIsUnread: what the packet does not meet is not mentioned.
func TestDoubtsAboutWhatIsUnread(t *testing.T) {
	const udp = "udp 10.8.0.1:40000 > 10.244.0.11:53 in eth0"
	for _, row := range []struct{ what, packet, unless, see string }{
		{"IPv6 rules", fromPod, "", ""},
		{"IPv4 rules of the nft backend", fromPod, "a rule that was not read stops or changes it", "iptables-save -c > iptables-save"},
		{"table nat of the IPv4 rules", fromPod, "a rule of table nat, which was not read, stops or changes it",
			"iptables-save -c > iptables-save"},
		{"table nat of the IPv6 rules", fromPod, "", ""},
		{"IPv4 routes", fromPod, "a route that was not read leads it elsewhere", "ip -j route show table all > ip-route.json"},
		{"IPv6 routes", fromPod, "", ""},
		{"IPv4 routes", toNode, "", ""},
		{"IPv4 policy rules", fromPod, "a policy rule that was not read routes it another way", "ip -j rule > ip-rule.json"},
		{"IPv6 policy rules", "tcp [fd01::1]:40000 > [fd02::1]:80 in eth0", "a policy rule that was not read routes it another way",
			"ip -6 -j rule > ip6-rule.json"},
		{"route to 10.9.0.0/16", fromPod, "a route that was not read leads it elsewhere", ""},
		{"route to 10.10.0.0/16", fromPod, "", ""},
		{"conntrack entries", fromPod, "", ""},
		{"conntrack entries", udp, "conntrack knows its connection, and translates it otherwise", "conntrack -L -o extended > conntrack"},
		{"nfacct objects", fromPod, "", ""},
		{"nftables chains", fromPod, "a rule of native nftables stops or changes it", "nft list ruleset"},
		{"chain FORWARD of nftables table ip filter", fromPod, "chain FORWARD of nftables table ip filter does otherwise, where nft made rules",
			""},
		{"chain FORWARD of nftables table ip6 filter", fromPod, "", ""},
		{"chain INPUT of nftables table ip filter", fromPod, "", ""},
	} {
		t.Run(row.what+" "+row.packet, func(t *testing.T) {
			result := doubtsOf(t, known+"unread: [{what: "+row.what+", why: no file}]\n", row.packet)
			var want []packetsim.Doubt
			if row.unless != "" {
				want = []packetsim.Doubt{{Kind: packetsim.DoubtUnread, Unless: row.unless, See: row.see}}
			}
			assert.Equal(t, want, result.Doubts)
			assert.Empty(t, result.Notes)
		})
	}
}

// bridgedPods are a node with two pods behind a bridge, of which no port is in hairpin mode.
const bridgedPods = `version: 1
hostname: node
devices:
- {name: cbr0, kind: bridge, up: true, addresses: [{address: 10.244.0.1/24}]}
- {name: veth1, master: cbr0, up: true, neighbours: [10.244.0.11]}
- {name: veth2, master: cbr0, up: true, neighbours: [10.244.0.12]}
routes: [{dst: 10.244.0.0/24, dev: cbr0, table: 254}, {dst: 10.244.0.1/32, dev: cbr0, type: local, table: 255}]
sysctls: {net.ipv4.ip_forward: "1", net.bridge.bridge-nf-call-iptables: "1"}
iptables:
- {backend: legacy, family: 4, save: "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -d 10.96.0.1/32 -j DNAT --to-destination 10.244.0.11\nCOMMIT\n"}
`

// TestDoubtsAboutWhatIsBehindPorts: tables that say who is behind the ports of a bridge, and its modes, matter where a packet ends by them.
func TestDoubtsAboutWhatIsBehindPorts(t *testing.T) {
	const (
		toItself = "tcp 10.244.0.11:1 > 10.96.0.1:80 in veth1"
		toOther  = "tcp 10.244.0.12:1 > 10.96.0.1:80 in veth2"
		toNobody = "tcp 10.244.0.11:1 > 10.244.0.99:80 in veth1 nexthop 10.244.0.99"
	)
	for _, row := range []struct{ what, packet, unless, see string }{
		{"hairpin mode of veth1", toItself, "port veth1 is in the other hairpin mode", "ip -d -j link > ip-link.json"},
		{"hairpin mode of veth2", toItself, "", ""},
		{"hairpin mode of veth2", toOther, "", ""},
		{UnreadForwarding, toNobody, "the forwarding database says who is there", "bridge -j fdb > bridge-fdb.json"},
		{UnreadNeighbours, toNobody, "the neighbour table says who is there", "ip -j neigh > ip-neigh.json"},
		{UnreadForwarding, toOther, "", ""},
	} {
		t.Run(row.what+" "+row.packet, func(t *testing.T) {
			s, err := Read("node.yaml", strings.NewReader(bridgedPods+"unread: [{what: "+row.what+", why: no file}]\n"))
			require.NoError(t, err)
			in, err := inet.ParseInput(row.packet)
			require.NoError(t, err)
			result, err := s.Trace(in, HostOptions{}, packetsim.WalkOptions{})
			require.NoError(t, err)
			var want []packetsim.Doubt
			if row.unless != "" {
				want = []packetsim.Doubt{{Kind: packetsim.DoubtUnread, Unless: row.unless, See: row.see}}
			}
			assert.Equal(t, want, result.Doubts)
		})
	}
}
