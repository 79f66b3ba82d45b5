package network

import (
	"net/netip"
	"testing"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/stretchr/testify/assert"
)

func TestListenersAccept(t *testing.T) {
	web := Listeners{{Proto: packetsim.TCP, Addr: netip.MustParseAddr("10.0.0.1"), Port: 80}, {Proto: packetsim.UDP, Port: 53}}
	for _, row := range []struct {
		name      string
		listeners Listeners
		proto     packetsim.Proto
		at        string
		want      bool
	}{
		{"its address and port", web, packetsim.TCP, "10.0.0.1:80", true},
		{"another port", web, packetsim.TCP, "10.0.0.1:81", false},
		{"another address", web, packetsim.TCP, "10.0.0.2:80", false},
		{"another protocol", web, packetsim.SCTP, "10.0.0.1:80", false},
		{"every address, of either family", web, packetsim.UDP, "[fd00::1]:53", true},
		{"everything", Listeners{{}}, packetsim.SCTP, "[fd00::1]:9", true},
		{"nothing", nil, packetsim.TCP, "10.0.0.1:80", false},
		{"echo requests need no listener", nil, packetsim.ICMPv6, "[fd00::1]:0", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, row.listeners.Accept(row.proto, netip.MustParseAddrPort(row.at)))
		})
	}
}
