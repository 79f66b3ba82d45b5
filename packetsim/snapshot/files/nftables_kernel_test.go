//go:build linux

package files_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/packetsim/snapshot/files"
)

// TestNativeTablesAsTheKernelHasThem: what nft prints of its tables says of each base chain what netlink does.
func TestNativeTablesAsTheKernelHasThem(t *testing.T) {
	kerneltest.Need(t, "ip", "nft", "iptables-nft")
	node := kerneltest.New(t)
	node.Must("ip link set lo up", "ip link add v0 type veth peer name v1", "iptables-nft -A FORWARD -p tcp -j DROP")
	node.Feed(`
table inet fw {
	set bad { type ipv4_addr; flags interval; elements = { 10.9.0.0/16, 10.8.0.0-10.8.0.9 }; }
	map ports { type inet_service : verdict; flags interval; elements = { 22 : accept, 23 : goto refuse, 80-90 : jump nothing }; }
	chain refuse { log prefix "drop { this" reject; }
	chain nothing { counter comment "drop is not meant"; }
	chain unused { drop; }
	chain incoming { type filter hook input priority filter + 10; policy drop; ct state established,related accept; }
	chain onward { type filter hook forward priority -5; tcp dport vmap @ports; }
	chain outgoing { type filter hook output priority mangle; tcp flags syn tcp option maxseg size set rt mtu; meta nftrace set 1;
		ct status dnat accept; }
	chain marks { type filter hook prerouting priority raw; ip saddr @bad meta mark set 5; ip saddr 10.7.0.1 notrack; }
	chain late { type filter hook postrouting priority 5; tcp dport vmap { 22 : accept, 80 : drop }; }
}
table ip own {
	chain pre { type nat hook prerouting priority dstnat; tcp dport 80 dnat to 10.0.0.1:8080; }
	chain post { type nat hook postrouting priority srcnat; masquerade; }
}
table netdev edge {
	chain arriving { type filter hook ingress device v0 priority 0; ip saddr 10.0.0.1 drop; }
}
table bridge br {
	chain onward { type filter hook forward priority filter; ip saddr 10.0.0.1 counter accept; }
}
table ip filter {
	chain side { counter drop; }
	chain extra { type filter hook input priority 7; jump side; }
}
`, "nft", "-f", "-")
	var taken *snapshot.NodeSnapshot
	var err error
	node.Do(func() { taken, err = snapshot.Take(t.Context(), exec.New()) })
	require.NoError(t, err)
	folder := fstest.MapFS{
		"addr": {Data: []byte(node.Must("ip -j addr"))}, "save": {Data: []byte(node.Must("iptables-nft-save -c"))},
		"nft": {Data: []byte(node.Must("nft list ruleset"))},
	}
	read, err := files.Read(folder, nil)
	require.NoError(t, err)
	chains := func(s *snapshot.NodeSnapshot) map[string][]snapshot.NFEffect {
		all := map[string][]snapshot.NFEffect{}
		for _, table := range s.NFTables {
			for _, c := range table.Chains {
				all[table.Family+" "+table.Name+" "+c.Type+" "+c.Device+" "+c.String()] = c.May
			}
		}
		return all
	}
	assert.Len(t, chains(taken), 10)
	assert.Equal(t, chains(taken), chains(read.Node))
}
