package node_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/proxier/node"
)

// nodeAt returns a node with addresses separated by spaces: internal ones,
// external ones behind a "+", names behind an "@".
func nodeAt(text string) *v1.Node {
	n := nodeWith("", "")
	for _, field := range strings.Fields(text) {
		kind := v1.NodeInternalIP
		switch field[0] {
		case '+':
			kind, field = v1.NodeExternalIP, field[1:]
		case '@':
			kind, field = v1.NodeHostName, field[1:]
		}
		n.Status.Addresses = append(n.Status.Addresses, v1.NodeAddress{Type: kind, Address: field})
	}
	return n
}

func TestHostIPs(t *testing.T) {
	tests := []struct{ name, node, want string }{
		{"no address", "", ""},
		{"one", "192.168.0.2", "192.168.0.2"},
		{"only external", "+203.0.113.1", "203.0.113.1"},
		{"the first of a family", "192.168.0.2 192.168.0.3", "192.168.0.2"},
		{"both families", "192.168.0.2 2001:db8::1", "192.168.0.2 2001:db8::1"},
		{"IPv6 first", "2001:db8::1 192.168.0.2", "2001:db8::1 192.168.0.2"},
		{"internal before external", "+203.0.113.1 192.168.0.2", "192.168.0.2"},
		{"external of the other family", "+203.0.113.1 +2001:db8::1 192.168.0.2", "192.168.0.2 2001:db8::1"},
		{"internal of the other family before external", "+203.0.113.1 2001:db8::1", "2001:db8::1 203.0.113.1"},
		{"more than two", "192.168.0.2 2001:db8::1 192.168.0.3 2001:db8::2", "192.168.0.2 2001:db8::1"},
		{"names", "@here here.example 192.168.0.2", "192.168.0.2"},
		{"an address that is a host name", "@192.168.0.1 192.168.0.2", "192.168.0.2"},
		{"leading zeros are decimal", "192.168.000.010", "192.168.0.10"},
		{"IPv4 written as IPv6", "::ffff:192.168.0.2 2001:db8::1", "192.168.0.2 2001:db8::1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, addresses(test.want), node.HostIPs(nodeAt(test.node)))
		})
	}
	assert.Empty(t, node.HostIPs(nil))
}

func TestDetectAddresses(t *testing.T) {
	tests := []struct {
		name, hostIPs, bindAddress string
		primary                    v1.IPFamily
		ipv4, ipv6                 string
	}{
		{"nothing is known", "", "", v1.IPv4Protocol, "127.0.0.1", "::1"},
		{"IPv4 node", "192.168.0.2", "", v1.IPv4Protocol, "192.168.0.2", "::1"},
		{"IPv6 node", "2001:db8::1", "", v1.IPv6Protocol, "127.0.0.1", "2001:db8::1"},
		{"dual-stack, IPv4 first", "192.168.0.2 2001:db8::1", "", v1.IPv4Protocol, "192.168.0.2", "2001:db8::1"},
		{"dual-stack, IPv6 first", "2001:db8::1 192.168.0.2", "", v1.IPv6Protocol, "192.168.0.2", "2001:db8::1"},
		{"bind address any", "2001:db8::1", "0.0.0.0", v1.IPv6Protocol, "127.0.0.1", "2001:db8::1"},
		{"bind address any of IPv6", "192.168.0.2", "::", v1.IPv4Protocol, "192.168.0.2", "::1"},
		{"bind address any, written as IPv6", "2001:db8::1", "::ffff:0.0.0.0", v1.IPv6Protocol, "127.0.0.1", "2001:db8::1"},
		{"bind address alone", "", "192.168.0.9", v1.IPv4Protocol, "192.168.0.9", "::1"},
		{"bind address of IPv6 alone", "", "2001:db8::9", v1.IPv6Protocol, "127.0.0.1", "2001:db8::9"},
		{"bind address instead of the node's", "192.168.0.2 2001:db8::1", "192.168.0.9", v1.IPv4Protocol, "192.168.0.9", "2001:db8::1"},
		{"bind address makes its family primary", "192.168.0.2 2001:db8::1", "2001:db8::9", v1.IPv6Protocol, "192.168.0.2", "2001:db8::9"},
		{"bind address of the other family", "192.168.0.2", "2001:db8::9", v1.IPv6Protocol, "192.168.0.2", "2001:db8::9"},
		{"bind address written as IPv6", "2001:db8::1", "::ffff:192.168.0.9", v1.IPv4Protocol, "192.168.0.9", "2001:db8::1"},
		{"bind address loopback", "192.168.0.2", "127.0.0.1", v1.IPv4Protocol, "127.0.0.1", "::1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bindAddress := netip.Addr{}
			if test.bindAddress != "" {
				bindAddress = netip.MustParseAddr(test.bindAddress)
			}
			got := node.DetectAddresses(addresses(test.hostIPs), bindAddress)
			assert.Equal(t, test.primary, got.Primary)
			assert.Equal(t, test.ipv4, got.Of(v1.IPv4Protocol).String())
			assert.Equal(t, test.ipv6, got.Of(v1.IPv6Protocol).String())
		})
	}
}

func TestName(t *testing.T) {
	tests := []struct{ name, override, hostname, want string }{
		{"the host's", "", "here", "here"},
		{"in lower case, without space", "", " Here.Example\n", "here.example"},
		{"override", "There ", "here", "there"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := node.Name(test.override, test.hostname)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
	for _, blank := range []struct{ override, hostname string }{{"", " "}, {" ", "here"}} {
		_, err := node.Name(blank.override, blank.hostname)
		require.EqualError(t, err, "the node's name is empty: give it with --hostname-override")
	}
}
