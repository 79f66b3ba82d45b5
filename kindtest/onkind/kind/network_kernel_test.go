//go:build linux

package kind

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
)

// TestKernelAnswersEachDatagram counts the ICMP errors of a machine that is asked at many ports where nobody listens.
func TestKernelAnswersEachDatagram(t *testing.T) {
	kerneltest.Need(t, "ip", "sysctl")
	client, node := kerneltest.New(t), kerneltest.New(t)
	client.Must("ip link add eth0 type veth peer name eth0 netns " + node.Path())
	for host, ns := range map[string]*kerneltest.Namespace{"1": client, "2": node} {
		ns.Must("ip addr add 10.9.0."+host+"/24 dev eth0", "ip addr add fd09::"+host+"/64 dev eth0 nodad", "ip link set eth0 up")
	}
	const datagrams = 300
	// answered is how many of the datagrams a machine refuses, by its own count.
	answered := func(address string) int {
		t.Helper()
		refused := func() int {
			t.Helper()
			return refusals(t, node, strings.Contains(address, ":"))
		}
		client.Do(func() { // a connection is tried until the link is up, and the neighbour known
			_, err := net.Dial("tcp", net.JoinHostPort(address, "1"))
			require.ErrorIs(t, err, unix.ECONNREFUSED)
		})
		before := refused()
		client.Do(func() {
			for port := range datagrams {
				conn, err := net.Dial("udp", net.JoinHostPort(address, strconv.Itoa(20000+port)))
				require.NoError(t, err)
				_, err = conn.Write([]byte("?"))
				require.NoError(t, err)
				require.NoError(t, conn.Close())
			}
		})
		return refused() - before
	}
	for _, address := range []string{"10.9.0.2", "fd09::2"} {
		assert.Less(t, answered(address), datagrams, "a kernel limits them")
	}
	b := &Backend{relays: map[string]relay{"node": inNamespace{Namespace: node}}}
	require.NoError(t, b.quieten(t.Context(), "node"))
	for _, address := range []string{"10.9.0.2", "fd09::2"} {
		assert.Equal(t, datagrams, answered(address), address)
	}
	value, err := client.Sysctl("net.ipv4.icmp_ratemask")
	require.NoError(t, err)
	assert.NotEqual(t, "0", value, "each namespace has its own")
}

// TestKernelAnAddressThatMovesIsFound gives an address to one node and then to another: who had called the first one calls the second one
// next.
func TestKernelAnAddressThatMovesIsFound(t *testing.T) {
	kerneltest.Need(t, "ip")
	outside, bridge := kerneltest.New(t), kerneltest.New(t)
	bridge.Must("ip link add br0 type bridge", "ip link set br0 up")
	b := &Backend{relays: map[string]relay{}}
	b.facts.Networks = []netip.Prefix{netip.MustParsePrefix("10.9.0.0/24"), netip.MustParsePrefix("fd09::/64")}
	b.facts.Outside.Name = "outside"
	for i, name := range []string{"outside", "node1", "node2"} {
		ns := outside
		if name != "outside" {
			ns = kerneltest.New(t)
			b.facts.Nodes = append(b.facts.Nodes, cluster.Node{Name: name})
		}
		b.relays[name] = inNamespace{Namespace: ns}
		port := fmt.Sprintf("p%d", i)
		bridge.Must("ip link add " + port + " type veth peer name eth0 netns " + ns.Path())
		bridge.Must("ip link set "+port+" master br0", "ip link set "+port+" up")
		ns.Must(fmt.Sprintf("ip addr add 10.9.0.%d/24 dev eth0", i+1), fmt.Sprintf("ip addr add fd09::%d/64 dev eth0 nodad", i+1),
			"ip link set eth0 up")
		ns.Must(fmt.Sprintf("ip link set eth0 address 02:00:00:00:00:0%d", i+1))
	}
	for _, text := range []string{"10.9.0.99", "fd09::99"} {
		address := netip.MustParseAddr(text)
		for node, hardware := range map[string]string{"node1": "02:00:00:00:00:02", "node2": "02:00:00:00:00:03"} { // in any order
			l, lines := newLinks(b), map[string][]string{}
			l.address(lines, node, address)
			require.NoError(t, l.batch(t.Context(), lines))
			outside.Do(func() {
				_, err := net.DialTimeout("tcp", net.JoinHostPort(text, "1"), 5*time.Second)
				require.ErrorIs(t, err, unix.ECONNREFUSED, node)
			})
			assert.Contains(t, outside.Must("ip neighbour show to "+text+" dev eth0"), hardware, node)
			require.NoError(t, l.take(t.Context()))
		}
	}
}

// refusals is how many "destination unreachable" a machine has sent.
func refusals(t *testing.T, ns *kerneltest.Namespace, v6 bool) int {
	t.Helper()
	const ours = "OutDestUnreachs"
	if v6 {
		for line := range strings.Lines(ns.Must("cat /proc/net/snmp6")) {
			if words := strings.Fields(line); words[0] == "Icmp6"+ours {
				return number(t, words[1])
			}
		}
		require.Fail(t, "no Icmp6"+ours)
	}
	var names []string
	for line := range strings.Lines(ns.Must("cat /proc/net/snmp")) {
		words := strings.Fields(line)
		if words[0] != "Icmp:" {
			continue
		}
		if names == nil {
			names = words
			continue
		}
		for i, name := range names {
			if name == ours {
				return number(t, words[i])
			}
		}
	}
	require.Fail(t, fmt.Sprintf("no %s", ours))
	return 0
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}
