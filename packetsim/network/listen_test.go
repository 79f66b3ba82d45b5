package network

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

func TestListenersAccept(t *testing.T) {
	web := Listeners{{Proto: inet.TCP, Addr: netip.MustParseAddr("10.0.0.1"), Port: 80}, {Proto: inet.UDP, Port: 53}}
	for _, row := range []struct {
		name      string
		listeners Listeners
		proto     inet.Proto
		at        string
		want      bool
	}{
		{"its address and port", web, inet.TCP, "10.0.0.1:80", true},
		{"another port", web, inet.TCP, "10.0.0.1:81", false},
		{"another address", web, inet.TCP, "10.0.0.2:80", false},
		{"another protocol", web, inet.SCTP, "10.0.0.1:80", false},
		{"every address, of either family", web, inet.UDP, "[fd00::1]:53", true},
		{"everything", Listeners{{}}, inet.SCTP, "[fd00::1]:9", true},
		{"nothing", nil, inet.TCP, "10.0.0.1:80", false},
		{"echo requests need no listener", nil, inet.ICMPv6, "[fd00::1]:0", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, row.listeners.Accept(row.proto, netip.MustParseAddrPort(row.at)))
		})
	}
}
