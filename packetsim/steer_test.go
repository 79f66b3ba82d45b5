package packetsim

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSteer(t *testing.T) {
	config := HostConfig{
		Name:    "router",
		Devices: []Device{{Name: "eth0", Up: true, Addresses: addresses("192.168.0.1/24", "fd00:1::1/64")}},
		Routes: []Route{
			{Dst: netip.MustParsePrefix("0.0.0.0/0"), Dev: "eth0", Steered: true},
			{Dst: netip.MustParsePrefix("::/0"), Dev: "eth0", Steered: true},
		},
	}
	h, err := NewHost(config)
	require.NoError(t, err)
	four, six := "udp 192.168.0.1:1 > 203.0.113.1:2 local", "udp [fd00:1::1]:1 > [2001:db8::1]:2 local"
	expect := func(packet, nextHop string) {
		t.Helper()
		o := walkOne(t, h, packet)
		if nextHop == "" {
			assert.Equal(t, ReasonNoRoute, o.Reason)
			return
		}
		assert.Equal(t, nextHop, o.NextHop.String())
	}
	expect(four, "")
	h.Steer(netip.MustParseAddr("192.168.0.7"))
	expect(four, "192.168.0.7")
	expect(six, "")
	h.Steer(netip.MustParseAddr("fd00:1::7"))
	expect(four, "")
	expect(six, "fd00:1::7")
	require.NoError(t, h.SetNetwork(config.Devices, config.Routes, nil, false))
	expect(six, "fd00:1::7")
	h.Steer(netip.Addr{})
	expect(six, "")

	config.Routes[0].Via = netip.MustParseAddr("192.168.0.7")
	_, err = NewHost(config)
	assert.ErrorContains(t, err, "route 0.0.0.0/0: it is steered and has a next hop")
}
