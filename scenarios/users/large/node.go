package large

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// snapshot is what is found on a node: a device for each of its pods, routes to the other nodes, and kube-proxy's rules.
func (b *builder) snapshot(n int) (*snapshot.NodeSnapshot, error) {
	own := nodeAddress(n)
	taken := &snapshot.NodeSnapshot{
		Version: snapshot.Version, Hostname: b.nodes[n].Name,
		Sysctls: map[string]string{"net.ipv4.ip_forward": "1", "net.ipv4.conf.all.forwarding": "1", "net.ipv4.conf.all.rp_filter": "0",
			"net.ipv4.conf.default.rp_filter": "0", "net.ipv4.conf.all.route_localnet": "1", "net.bridge.bridge-nf-call-iptables": "1"},
		Devices: []snapshot.Device{
			{Name: "lo", Index: 1, Kind: "loopback", MTU: 65536, Up: true,
				Addresses: []snapshot.Address{{Prefix: netip.MustParsePrefix("127.0.0.1/8"), Scope: packetsim.ScopeHost}}},
			{Name: uplink, Index: 2, Kind: "device", MTU: 1500, Up: true, Addresses: []snapshot.Address{{Prefix: netip.PrefixFrom(own, 24)}}},
		},
		Routes: []snapshot.Route{
			{Dst: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("192.168.0.1"), Dev: uplink, Table: packetsim.TableMain},
			{Dst: netip.MustParsePrefix("192.168.0.0/24"), Dev: uplink, Table: packetsim.TableMain, Scope: packetsim.ScopeLink},
			{Dst: netip.PrefixFrom(own, 32), Dev: uplink, Type: packetsim.RouteLocal, Table: packetsim.TableLocal, Scope: packetsim.ScopeHost},
			{Dst: netip.MustParsePrefix("127.0.0.0/8"), Dev: "lo", Type: packetsim.RouteLocal, Table: packetsim.TableLocal,
				Scope: packetsim.ScopeHost},
		},
	}
	for _, pod := range b.pods[n] {
		device := fmt.Sprintf("veth%d", len(taken.Devices))
		taken.Devices = append(taken.Devices, snapshot.Device{Name: device, Index: len(taken.Devices) + 1, Kind: "veth", MTU: 1500, Up: true})
		taken.Routes = append(taken.Routes, snapshot.Route{
			Dst: netip.PrefixFrom(pod, 32), Dev: device, Table: packetsim.TableMain, Scope: packetsim.ScopeLink,
		})
	}
	for m := range nodes {
		if m != n {
			taken.Routes = append(taken.Routes, snapshot.Route{Dst: podNetwork(m), Via: nodeAddress(m), Dev: uplink, Table: packetsim.TableMain})
		}
	}
	rules, err := sim.Rules(sim.RulesInput{
		Objects: b.cluster.Objects, Configuration: b.cluster.Config, Node: b.nodes[n], Dialect: netfilter.NFT,
	})
	if err != nil {
		return nil, err
	}
	for _, family := range netfilter.Families() {
		var save strings.Builder
		if err := rules.Save(family, &save); err != nil {
			return nil, err
		}
		taken.IPTables = append(taken.IPTables, snapshot.Rules{Dialect: netfilter.NFT, Family: family, Save: save.String()})
	}
	return taken, nil
}

// uplink is the device of a node to the other nodes.
const uplink = "eth0"
