//go:build linux

package files_test

import (
	"cmp"
	"context"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/packetsim/snapshot/files"
)

// bundleNode is a namespace with something of everything that a snapshot holds.
func bundleNode(t *testing.T) *kerneltest.Namespace {
	kerneltest.Need(t, "ip", "sysctl", "bridge", "nfacct", "ipset", "conntrack", "iptables-legacy", "iptables-legacy-save",
		"iptables-nft", "ip6tables-nft", "iptables-nft-save", "ip6tables-nft-save")
	n := kerneltest.New(t)
	n.Must(
		"ip link set lo up",
		// A bridge that snoops tells the group of all snoopers (224.0.0.106), in a connection that comes when it likes.
		"ip link add br0 type bridge mcast_snooping 0", "ip link set br0 addrgenmode none", "ip link set br0 up",
		"ip link add v0 type veth peer name v1", "ip link set v0 addrgenmode none", "ip link set v1 addrgenmode none",
		"ip link set v0 master br0 up", "ip link set v1 up group 7", "bridge link set dev v0 hairpin on",
		"ip addr add 10.3.0.1/24 brd + dev br0", "ip addr add 10.3.0.2/24 dev br0", "ip addr add 10.4.0.1 peer 10.4.0.9/32 dev v1",
		"ip -6 addr add fd33::1/64 dev br0 nodad", "ip -6 addr add fd33::2/64 dev br0 nodad preferred_lft 0",
		"bridge fdb add 02:00:00:00:00:05 dev v0 master static", "ip neigh add 10.3.0.5 lladdr 02:00:00:00:00:05 dev br0 nud permanent",
		"ip link add vx type vxlan id 7 dstport 4789 local 10.3.0.1 nolearning", "ip link set vx addrgenmode none", "ip link set vx up",
		"bridge fdb add 02:00:00:00:00:09 dev vx dst 10.3.0.9", "ip neigh add 10.7.1.0 lladdr 02:00:00:00:00:09 dev vx nud permanent",
		"ip link add down type veth peer name down1",
		"ip route add default via 10.3.0.254", "ip route add 10.5.0.0/16 nexthop via 10.3.0.7 dev br0 weight 2 nexthop via 10.3.0.8 dev br0",
		"ip route add blackhole 10.6.0.0/16 table 100", "ip route add unreachable 10.8.0.0/16",
		"ip route add 10.77.0.0/16 via 10.3.0.3 src 10.3.0.2 table 100 metric 7 proto static mtu 1300",
		"ip route add 10.9.0.0/16 dev v1 tos 0x10",
		"ip -6 route add default via fd33::9 metric 5", "ip -6 route add prohibit fd99::/64", "ip -6 route add fd98::/64 dev br0",
		"ip rule add priority 90 fwmark 0x10/0xff iif br0 table 100", "ip rule add priority 94 fwmark 0x4 table 100",
		"ip rule add not from 10.9.0.0/16 to 10.8.0.1 oif v1 lookup 200 priority 95", "ip rule add priority 92 ipproto tcp table 100",
		"ip -6 rule add priority 91 from fd77::/16 prohibit", "ip -6 rule add priority 96 fwmark 0x1 blackhole",
		"sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.br0.rp_filter=2 net.ipv6.conf.all.forwarding=1",
		"nfacct add cw-dropped", "ipset create cw-set hash:ip", "ipset add cw-set 10.9.9.9", "ipset create cw-six hash:net family inet6",
		"iptables-legacy -t nat -A PREROUTING -d 10.99.0.1 -p tcp --dport 80 -j DNAT --to-destination 10.3.0.1:8080",
		"iptables-legacy -A FORWARD -p tcp -j ACCEPT",
		"iptables-nft -A INPUT -m conntrack --ctstate INVALID -m nfacct --nfacct-name cw-dropped -j DROP",
		"iptables-nft -t mangle -A FORWARD -m set --match-set cw-set src -j DROP",
		"ip6tables-nft -A FORWARD -m conntrack --ctstate NEW -p ipv6-icmp -j ACCEPT",
	)
	n.Do(func() {
		listener, err := net.Listen("tcp4", "10.3.0.1:8080")
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		connection, err := net.Dial("tcp4", "10.3.0.1:8080")
		require.NoError(t, err)
		t.Cleanup(func() { _ = connection.Close() })
		for _, to := range []string{"10.3.0.1:9", "[fd33::1]:9"} {
			datagrams, err := net.Dial("udp", to)
			require.NoError(t, err)
			_, err = datagrams.Write([]byte("nobody answers"))
			require.NoError(t, err)
			t.Cleanup(func() { _ = datagrams.Close() })
		}
	})
	return n
}

// bundles are the files of a support bundle, by their names, and the commands that print them.
var bundles = map[string]map[string]string{
	"as JSON": {
		"ip-addr.json": "ip -j addr", "ip-link.json": "ip -d -j link", "route.json": "ip -j route show table all",
		"route-6.json": "ip -6 -j route show table all", "rule.json": "ip -j rule", "ip6-rule.json": "ip -6 -j rule",
		"fdb.json": "bridge -j fdb", "neigh.json": "ip -j neigh",
	},
	"as text": {
		"ip_-d_addr": "ip -d addr", "ip_route_show_table_all": "ip route show table all", "ip_-6_route": "ip -6 route show table all",
		"ip_rule_list": "ip rule", "ip_-6_rule_list": "ip -6 rule", "bridge_fdb_show": "bridge fdb", "ip_neigh": "ip neigh",
	},
}

// common are files that are the same in both bundles.
var common = map[string]string{
	"firewall/iptables-legacy-save": "iptables-legacy-save -c", "firewall/iptables-nft-save": "iptables-nft-save -c",
	"firewall/iptables-save": "iptables-nft-save -c", "firewall/ip6tables": "ip6tables-nft-save -c",
	"sysctl_-a": "sysctl -a", "conntrack": "conntrack -L -f ipv4", "conntrack6": "conntrack -L -f ipv6 -o extended",
	"ipset_save": "ipset save", "nfacct": "nfacct list",
}

// TestKernelFilesSayWhatTheMachineSays: a snapshot of files is the one that is taken of the machine, but for what no file says: the order
// of
// both backends and the order in which devices came.
func TestKernelFilesSayWhatTheMachineSays(t *testing.T) {
	node := bundleNode(t)
	for name, bundle := range bundles {
		t.Run(name, func(t *testing.T) {
			folder := fstest.MapFS{"photo.jpg": {Data: []byte{0xff, 0xd8, 0}}, "notes": {Data: []byte("it is slow\n")}}
			for _, commands := range []map[string]string{bundle, common} {
				for file, command := range commands {
					result := node.In(t).Run(strings.Fields(command), "")
					folder[file] = &fstest.MapFile{Data: []byte(result.Stdout + result.Stderr)}
				}
			}
			result, err := files.Read(folder, writer)
			require.NoError(t, err)
			var taken *snapshot.NodeSnapshot
			node.In(t).Do(func() {
				taken, err = snapshot.Take(context.Background(), exec.New())
				require.NoError(t, err)
			})
			got, want := plain(result.Node), plain(taken)
			assert.Equal(t, want.Devices, got.Devices)
			assert.Equal(t, want.Routes, got.Routes)
			assert.Equal(t, want.PolicyRules, got.PolicyRules)
			assert.Equal(t, want.Sysctls, got.Sysctls)
			assert.Equal(t, want.IPTables, got.IPTables)
			assert.Equal(t, want.Conntrack, got.Conntrack)
			assert.Len(t, got.Conntrack, 3)
			assert.Equal(t, want.IPSets, got.IPSets)
			assert.Equal(t, want.NFAcct, got.NFAcct)
			var unread []string
			for _, u := range result.Node.Unread {
				unread = append(unread, regexp.MustCompile(`0x10 |table |v1 .*`).ReplaceAllString(u.What, "")+": "+u.Why)
			}
			assert.ElementsMatch(t, []string{
				"order of the iptables backends: the files do not say it; \"chainwalk snapshot\" on the node asks the kernel",
				"IPv4 route 10.9.0.0/16 : not supported: a route for TOS 0x10 only",
				"IPv4 policy rule of priority 92 (" + map[string]string{"as JSON": "rule.json", "as text": "ip_rule_list"}[name] +
					"): not supported: selector or option " + map[string]string{"as JSON": "ipproto", "as text": "ipproto, tcp"}[name],
			}, unread)
			var ignored []string
			for _, i := range result.Ignored {
				ignored = append(ignored, i.What)
			}
			assert.Equal(t, []string{"notes", "photo.jpg", "firewall/iptables-save"}, ignored)
			_, err = snapshot.NewHost(result.Node, snapshot.HostOptions{})
			require.NoError(t, err)
		})
	}
}

// plain is a snapshot without what differs each time it is taken.
func plain(s *snapshot.NodeSnapshot) *snapshot.NodeSnapshot {
	p := *s
	for i := range p.IPTables {
		save := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(p.IPTables[i].Save, "")
		p.IPTables[i].Save = regexp.MustCompile(`\[\d+:\d+\]`).ReplaceAllString(save, "[0:0]")
	}
	for i := range p.Conntrack {
		p.Conntrack[i].Timeout = 0
	}
	slices.SortFunc(p.Devices, func(a, b snapshot.Device) int { return cmp.Compare(a.Index, b.Index) })
	return &p
}
