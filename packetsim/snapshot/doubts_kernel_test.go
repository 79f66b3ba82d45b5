//go:build linux

package snapshot

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// router is a node between a client and a server. The client has two links to it, and sends by the first what it sends from its address on
// the second, too: the answers to that come by the second.
type router struct{ client, node, server *kerneltest.Namespace }

func newRouter(t *testing.T) *router {
	kerneltest.Need(t, "ip", "nft", "sysctl")
	r := &router{kerneltest.New(t), kerneltest.New(t), kerneltest.New(t)}
	r.client.Must("ip link set lo up")
	for _, link := range []struct {
		end         *kerneltest.Namespace
		name, there string
		subnet      string
	}{{r.client, "ca", "eth0", "1"}, {r.client, "cb", "eth1", "3"}, {r.server, "s0", "eth0", "2"}} {
		r.node.Must("ip link add "+link.name+" type veth peer name "+link.there+" netns "+link.end.Path(),
			"ip addr add 10.91."+link.subnet+".1/24 dev "+link.name, "ip link set "+link.name+" up")
		link.end.Must("ip addr add 10.91."+link.subnet+".2/24 dev "+link.there, "ip link set "+link.there+" up")
	}
	r.client.Must("ip route add default via 10.91.1.1", "sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.eth0.rp_filter=0 "+
		"net.ipv4.conf.eth1.rp_filter=0")
	r.server.Must("ip route add default via 10.91.2.1")
	r.node.Must("sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.ca.rp_filter=0 net.ipv4.conf.cb.rp_filter=0")
	for _, end := range []*kerneltest.Namespace{r.node, r.server} {
		end.Do(func() {
			l, err := net.Listen("tcp4", ":80")
			require.NoError(t, err)
			t.Cleanup(func() { _ = l.Close() })
		})
	}
	return r
}

// enough is longer than a connection takes here, also if its first packet comes before a link is up and TCP tries again after a second.
const enough = 2500 * time.Millisecond

// connects says whether the client makes a connection.
func (r *router) connects(t *testing.T, from, to string) bool {
	var err error
	r.client.In(t).Do(func() {
		var c net.Conn
		dialer := net.Dialer{Timeout: enough, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		if c, err = dialer.Dial("tcp4", to+":80"); err == nil {
			err = c.Close()
		}
	})
	return err == nil
}

// trace takes the node and walks a packet of the client's.
func (r *router) trace(t *testing.T, packet string, forget bool) packetsim.TraceResult {
	var s *NodeSnapshot
	var err error
	r.node.In(t).Do(func() { s, err = Take(t.Context(), exec.New()) })
	require.NoError(t, err)
	unread(s)
	if forget {
		s.Sysctls, s.Unread = nil, append(s.Unread, Unread{What: UnreadSysctls, Why: "a test takes them away"})
	}
	in, err := inet.ParseInput(packet)
	require.NoError(t, err)
	result, err := s.Trace(in, HostOptions{}, packetsim.WalkOptions{Back: true})
	require.NoError(t, err)
	require.Len(t, result.Outcomes, 1)
	return result
}

// doubtRow is what stops a connection, or may, and what becomes of one.
type doubtRow struct {
	name     string
	commands []string
	from, to string
	forget   bool // the sysctls are not taken
	connects bool
	walked   packetsim.Verdict
	reason   packetsim.Reason
	doubts   []string
}

// The addresses of the client on both links, of the server and of the node.
const near, far, server, node = "10.91.1.2", "10.91.3.2", "10.91.2.2", "10.91.1.1"

// walkedTable are the commands of a table with one rule at a hook.
func walkedTable(hook, rule string) []string {
	return []string{"nft add table inet fw", "nft add chain inet fw c { type filter hook " + hook + " priority 0; }",
		"nft add rule inet fw c " + rule}
}

// notWalked are the commands that mark a table of which the snapshot is to lack the rules (unread), though no packet comes to the mark.
func notWalked(table string) []string { return []string{"nft add chain " + table + " unread"} }

// unread takes the rules of marked tables away, as if they could not be read.
func unread(s *NodeSnapshot) {
	for i := range s.NFTables {
		if strings.Contains(s.NFTables[i].Rules, "chain unread ") {
			s.NFTables[i].Rules = ""
		}
	}
}

func fw(hook, rule string) []string { return append(walkedTable(hook, rule), notWalked("inet fw")...) }

// nativeDoubts are native tables that are not walked.
func nativeDoubts() []doubtRow {
	return []doubtRow{
		{name: "nothing in the way", from: near, to: server, connects: true, walked: packetsim.Accept},
		{name: "native drop in forward", commands: fw("forward", "tcp dport 80 drop"), from: near, to: server, walked: packetsim.Accept,
			doubts: []string{"table inet fw drops it (chain c in forward, priority 0)"}},
		{name: "native drop in forward, of something else", commands: fw("forward", "udp dport 80 drop"), from: near, to: server, connects: true,
			walked: packetsim.Accept},
		{name: "native drop of another port", commands: fw("forward", "tcp dport 81 counter drop"), from: near, to: server, connects: true,
			walked: packetsim.Accept},
		{name: "native drop of the reply's port", commands: fw("forward", "tcp sport 80 drop"), from: near, to: server,
			walked: packetsim.Accept, doubts: []string{"table inet fw drops it (chain c in forward, priority 0)"}},
		{name: "native drop of a port that clients choose", commands: fw("forward", "tcp dport 45000 drop"), from: near, to: server,
			connects: true, walked: packetsim.Accept, doubts: []string{"table inet fw drops it (chain c in forward, priority 0)"}},
		{name: "native drop of all ports but one", commands: fw("forward", "tcp dport != 81 drop"), from: near, to: server,
			walked: packetsim.Accept, doubts: []string{"table inet fw drops it (chain c in forward, priority 0)"}},
		{name: "native drop of a set of ports", commands: fw("forward", "tcp dport { 80, 81 } drop"), from: near, to: server,
			walked: packetsim.Accept, doubts: []string{"table inet fw drops it (chain c in forward, priority 0)"}},
		{name: "native drop of another source", commands: fw("forward", "ip saddr 10.92.0.0/16 drop"), from: near, to: server, connects: true,
			walked: packetsim.Accept},
		{name: "native drop of this source", commands: fw("forward", "ip saddr 10.91.0.0/16 drop"), from: near, to: server,
			walked: packetsim.Accept, doubts: []string{"table inet fw drops it (chain c in forward, priority 0)"}},
		{name: "native drop of another destination", commands: fw("forward", "ip daddr 10.91.2.9 drop"), from: near, to: server, connects: true,
			walked: packetsim.Accept},
		{name: "native drop of another device", commands: fw("forward", "iifname cb drop"), from: near, to: server, connects: true,
			walked: packetsim.Accept},
		{name: "native drop of devices whose names begin so", commands: fw("forward", "iifname \"c*\" drop"), from: near, to: server,
			walked: packetsim.Accept, doubts: []string{"table inet fw drops it (chain c in forward, priority 0)"}},
		{name: "native drop behind a jump for another port", commands: append([]string{"nft add table inet fw", "nft add chain inet fw d",
			"nft add rule inet fw d drop"}, fw("forward", "tcp dport 81 jump d")...), from: near, to: server, connects: true,
			walked: packetsim.Accept},
		{name: "native drop of another port behind a jump", commands: append([]string{"nft add table inet fw", "nft add chain inet fw d",
			"nft add rule inet fw d tcp dport 81 drop"}, fw("forward", "jump d")...), from: near, to: server, connects: true,
			walked: packetsim.Accept},
		{name: "native drop behind a jump", commands: append([]string{"nft add table inet fw", "nft add chain inet fw d",
			"nft add rule inet fw d drop"}, fw("forward", "jump d")...), from: near, to: server, walked: packetsim.Accept,
			doubts: []string{"table inet fw drops it (chain c in forward, priority 0)"}},
		{name: "native reject in forward", commands: fw("forward", "reject"), from: near, to: server, walked: packetsim.Accept,
			doubts: []string{"table inet fw rejects it (chain c in forward, priority 0)"}},
		{name: "native drop in input, of a packet for the node", commands: fw("input", "drop"), from: near, to: node, walked: packetsim.Accept,
			doubts: []string{"table inet fw drops it (chain c in input, priority 0)"}},
		{name: "native drop in input, of a packet that is forwarded", commands: fw("input", "drop"), from: near, to: server, connects: true,
			walked: packetsim.Accept},
		{name: "native drop of the reply", commands: fw("output", "drop"), from: near, to: node, walked: packetsim.Accept,
			doubts: []string{"table inet fw drops it (chain c in output, priority 0)"}},
		{name: "native policy", commands: append([]string{"nft add table ip fw",
			"nft add chain ip fw c { type filter hook forward priority 10; policy drop; }"}, notWalked("ip fw")...), from: near, to: server,
			walked: packetsim.Accept,
			doubts: []string{"table ip fw drops it (chain c in forward, priority 10)"}},
		{name: "native counter", commands: fw("forward", "counter"), from: near, to: server, connects: true, walked: packetsim.Accept},
		{name: "native accept", commands: fw("forward", "accept"), from: near, to: server, connects: true, walked: packetsim.Accept},
		{name: "native drop of IPv6", commands: append([]string{"nft add table ip6 fw",
			"nft add chain ip6 fw c { type filter hook forward priority 0; }",
			"nft add rule ip6 fw c drop"}, notWalked("ip6 fw")...), from: near, to: server, connects: true, walked: packetsim.Accept},
	}
}

// walkedTables are native tables that are walked.
func walkedTables() []doubtRow {
	return []doubtRow{
		{name: "walked: drop in forward", commands: walkedTable("forward", "tcp dport 80 drop"), from: near, to: server, walked: packetsim.Drop},
		{name: "walked: drop of another port", commands: walkedTable("forward", "tcp dport 81 counter drop"), from: near, to: server,
			connects: true, walked: packetsim.Accept},
		{name: "walked: drop of all ports but one", commands: walkedTable("forward", "tcp dport != 81 drop"), from: near, to: server,
			walked: packetsim.Drop},
		{name: "walked: drop of a set of ports", commands: walkedTable("forward", "tcp dport { 80, 81 } drop"), from: near, to: server,
			walked: packetsim.Drop},
		{name: "walked: drop of devices whose names begin so", commands: walkedTable("forward", "iifname \"c*\" drop"), from: near, to: server,
			walked: packetsim.Drop},
		{name: "walked: drop behind a jump", commands: append([]string{"nft add table inet fw", "nft add chain inet fw d",
			"nft add rule inet fw d drop"}, walkedTable("forward", "jump d")...), from: near, to: server, walked: packetsim.Drop},
		{name: "walked: reject in forward", commands: walkedTable("forward", "reject"), from: near, to: server, walked: packetsim.Reject},
		{name: "walked: drop in input", commands: walkedTable("input", "drop"), from: near, to: node, walked: packetsim.Drop},
		{name: "walked: policy", commands: []string{"nft add table ip fw",
			"nft add chain ip fw c { type filter hook forward priority 10; policy drop; }"}, from: near, to: server, walked: packetsim.Drop},
	}
}

// settingDoubts are settings, which were taken or not.
func settingDoubts() []doubtRow {
	const off = "net.ipv4.ip_forward is 0"
	const strict = "net.ipv4.conf.all.rp_filter is 1"
	return []doubtRow{
		{name: "forwarding is off", commands: []string{"sysctl -qw net.ipv4.ip_forward=0"}, from: near, to: server,
			walked: packetsim.Drop, reason: packetsim.ReasonForwardingOff},
		{name: "forwarding is off, which was not taken", commands: []string{"sysctl -qw net.ipv4.ip_forward=0"}, from: near, to: server,
			forget: true, walked: packetsim.Accept, doubts: []string{off}},
		{name: "forwarding is off, of a packet for the node", commands: []string{"sysctl -qw net.ipv4.ip_forward=0"}, from: near, to: node,
			forget: true, connects: true, walked: packetsim.Accept},
		{name: "another way back", from: far, to: server, connects: true, walked: packetsim.Accept},
		{name: "another way back, which was not taken", from: far, to: server, forget: true, connects: true, walked: packetsim.Accept,
			doubts: []string{off, strict}},
		{name: "another way back, strict", commands: []string{"sysctl -qw net.ipv4.conf.ca.rp_filter=1"}, from: far, to: server,
			walked: packetsim.Drop, reason: packetsim.ReasonReversePath},
		{name: "strict, and the same way back", commands: []string{"sysctl -qw net.ipv4.conf.ca.rp_filter=1"}, from: near, to: server,
			connects: true, walked: packetsim.Accept},
	}
}

// TestDoubtsAsKernel makes what stops a connection, or may, and says what a real one meets and what the walk says: without a doubt both are
// the same, and whatever else happens was a doubt.
func TestDoubtsAsKernel(t *testing.T) {
	for _, row := range slices.Concat(nativeDoubts(), walkedTables(), settingDoubts()) {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := newRouter(t)
			r.node.Must(row.commands...)
			assert.Equal(t, row.connects, r.connects(t, row.from, row.to), "a connection of the kernel's")
			result := r.trace(t, "tcp "+row.from+":41000 > "+row.to+":80 in ca", row.forget)
			o := &result.Outcomes[0]
			assert.Equal(t, row.walked, o.Verdict, o.Why)
			assert.Equal(t, row.reason, o.Reason)
			assert.Equal(t, row.doubts, unlesses(result.Doubts))
			if len(row.doubts) == 0 {
				assert.Equal(t, row.connects, o.Verdict == packetsim.Accept, "a walk without a doubt is right")
			}
		})
	}
}

// TestLongPacketsAsKernel sends a datagram that must not be cut and that the link behind the node does not take: its sender is told.
func TestLongPacketsAsKernel(t *testing.T) {
	r := newRouter(t)
	r.node.Must("ip link set s0 mtu 1000")
	var told error
	r.client.In(t).Do(func() {
		c, err := net.DialUDP("udp4", nil, &net.UDPAddr{IP: net.IPv4(10, 91, 2, 2), Port: 9})
		require.NoError(t, err)
		defer func() { require.NoError(t, c.Close()) }()
		raw, err := c.SyscallConn()
		require.NoError(t, err)
		require.NoError(t, raw.Control(func(fd uintptr) {
			require.NoError(t, unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO))
		}))
		_, err = c.Write(make([]byte, 1200))
		require.NoError(t, err)
		require.NoError(t, c.SetReadDeadline(time.Now().Add(enough)))
		_, told = c.Read(make([]byte, 1))
	})
	assert.True(t, errors.Is(told, unix.EMSGSIZE), told)

	o := r.trace(t, "udp 10.91.1.2:41000 > 10.91.2.2:9 in ca len 1228 df", false).Outcomes[0]
	assert.Equal(t, "reject with icmp-frag-needed (1228 bytes are more than the MTU of s0)", o.Summary())
	assert.Equal(t, packetsim.ReasonTooLong, o.Reason)
	require.Len(t, o.Replies, 1)
	assert.Equal(t, packetsim.Accept, r.trace(t, "udp 10.91.1.2:41000 > 10.91.2.2:9 in ca len 1000 df", false).Outcomes[0].Verdict)
}
