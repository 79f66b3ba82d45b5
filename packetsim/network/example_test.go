package network_test

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
)

func ExampleNetwork_Connect() {
	lan := network.New()
	for _, machine := range []struct{ name, address string }{{"client", "192.168.0.2/24"}, {"server", "192.168.0.3/24"}} {
		host, err := packetsim.NewHost(packetsim.HostConfig{
			Name:    machine.name,
			Devices: []packetsim.Device{{Name: "eth0", Up: true, Addresses: []packetsim.Address{{Prefix: netip.MustParsePrefix(machine.address)}}}},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := lan.AddHost(host, network.Listener{Proto: inet.TCP, Port: 80}); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := lan.Segment("lan", network.Port{"client", "eth0"}, network.Port{"server", "eth0"}); err != nil {
		fmt.Println(err)
		return
	}
	for _, to := range []string{"192.168.0.3:80", "192.168.0.3:81"} {
		connections, err := lan.Connect(network.Connect{From: "client", Proto: inet.TCP, To: netip.MustParseAddrPort(to)})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s made=%t %s\n", to, connections[0].Made, strings.TrimSpace(connections[0].Server+" "+connections[0].Why))
	}
	// Output:
	// 192.168.0.3:80 made=true server
	// 192.168.0.3:81 made=false server refused by 192.168.0.3 with tcp-reset
}
