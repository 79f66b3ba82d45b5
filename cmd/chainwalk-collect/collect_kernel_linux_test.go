package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/packetsim/snapshot/parcel"
)

// asAPod runs a program as the pod on a node does: it has the machine's files below a folder, read-only, the capabilities of the pod, and
// cannot get others.
const asAPod = `set -e
mount --rbind / "$1"
mount -o remount,bind,ro "$1"
if touch "$1/written" 2>/dev/null; then echo "the folder can be written to" >&2; exit 1; fi
exec setpriv --bounding-set=-all,+net_admin,+net_raw,+sys_chroot --inh-caps=-all --no-new-privs --reset-env \
	"$2" --root "$1" --hostname node1 --parcel a`

// TestKernelCollectorInAPod holds that the rights of the pod suffice for the rules of both backends, sets, settings and connections.
func TestKernelCollectorInAPod(t *testing.T) {
	kerneltest.Need(t, "ip", "ipset", "conntrack", "unshare", "setpriv", "mount", "iptables-legacy", "iptables-nft")
	program, n := build(t), kerneltest.New(t)
	for _, argv := range [][]string{
		{"ip", "link", "set", "lo", "up"},
		{"ipset", "create", "friends", "hash:ip"},
		{"iptables-legacy", "-A", "INPUT", "-s", "192.0.2.7", "-j", "DROP"},
		{"iptables-nft", "-A", "FORWARD", "-m", "set", "--match-set", "friends", "src", "-j", "ACCEPT"},
		{"conntrack", "-I", "-p", "udp", "-s", "192.0.2.1", "-d", "192.0.2.2", "--sport", "7", "--dport", "53", "-t", "60"},
	} {
		n.Feed("", argv...)
	}
	root := filepath.Join(t.TempDir(), "host")
	require.NoError(t, os.Mkdir(root, 0o755))
	log := n.Feed("", "unshare", "--mount", "sh", "-c", asAPod, "sh", root, program)

	document, _, err := parcel.Read("a", strings.NewReader(log))
	require.NoError(t, err)
	node, err := snapshot.Read("a", strings.NewReader(string(document)))
	require.NoError(t, err)
	assert.Equal(t, "node1", node.Hostname)
	rules := map[netfilter.Dialect]string{}
	for _, r := range node.IPTables {
		rules[r.Dialect] += r.Save
	}
	assert.Contains(t, rules[netfilter.Legacy], "-A INPUT -s 192.0.2.7/32 -j DROP")
	assert.Contains(t, rules[netfilter.NFT], "-A FORWARD -m set --match-set friends src -j ACCEPT")
	assert.Contains(t, node.IPSets, "create friends hash:ip")
	require.Len(t, node.Conntrack, 1)
	assert.Contains(t, node.Sysctls, "net.ipv4.ip_forward")
	for _, unread := range node.Unread {
		assert.NotContains(t, unread.Why, "permitted", unread.What)
		assert.NotContains(t, unread.Why, "root", unread.What)
	}
	t.Logf("unread: %v", node.Unread)
}
