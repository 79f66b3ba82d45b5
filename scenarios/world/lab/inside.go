package lab

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// onLink gives a pod behind a bridge what the bridge plugin of CNI gives one: an address with the bridge's own prefix, so that the pod
// sends to its neighbours directly, and the bridge's address as its gateway. An address that no network of the bridge has keeps the way
// that is planned for it, as have all pods that are behind no bridge.
func (a *Attached) onLink(pod *scenarios.Pod, planned *plan.Host) {
	bridge := a.bridgeOf(a.Pods[pod.Name])
	if bridge == nil {
		return
	}
	eth, routes := planned.Devices[0], slices.Clone(planned.Routes)
	eth.Addresses = slices.Clone(eth.Addresses)
	for i := range eth.Addresses {
		own := &eth.Addresses[i]
		network := networkOf(bridge, own.Prefix.Addr())
		if !network.IsValid() {
			continue
		}
		routes = slices.DeleteFunc(routes, func(r packetsim.Route) bool { return r.Dst.Addr().Is6() == network.Addr().Is6() })
		routes = append(routes, packetsim.Route{Dst: netip.PrefixFrom(unspecified(network.Addr()), 0), Via: network.Addr(), Dev: eth.Name})
		own.Prefix = netip.PrefixFrom(own.Prefix.Addr(), network.Bits())
	}
	planned.Devices, planned.Routes = []packetsim.Device{eth}, routes
}

// OnLinkNote says of pods, sorted, that those behind one bridge are taken to send to one another directly, where the node's rules do not
// see what the bridge carries: otherwise it comes to the same. It is empty if there are no two.
func (a *Attached) OnLinkNote(pods []string, v6 bool) string {
	setting := packetsim.BridgeCallSysctl(v6)
	if a.Sysctls[setting] == "1" {
		return ""
	}
	behind := map[*snapshot.Device][]string{}
	for _, pod := range pods {
		bridge := a.bridgeOf(a.Pods[pod])
		if bridge == nil {
			continue
		}
		behind[bridge] = append(behind[bridge], pod)
		for _, own := range bridge.Addresses {
			if len(behind[bridge]) > 1 && own.Prefix.Addr().Is6() == v6 && own.Prefix.Addr().IsGlobalUnicast() {
				return fmt.Sprintf(
					"pods %s are taken to have %s on their link, as %s of %s has: what they send there passes no rules, since %s is not 1",
					strings.Join(behind[bridge], " and "), own.Prefix.Masked(), bridge.Name, a.Hostname, setting)
			}
		}
	}
	return ""
}

// Inlet is the device by which rules see what a pod sends: the bridge, not the port of it.
func (a *Attached) Inlet(pod string) string {
	if bridge := a.bridgeOf(a.Pods[pod]); bridge != nil {
		return bridge.Name
	}
	return a.Pods[pod]
}

// bridgeOf is the bridge that a device is a port of; nil if it is none.
func (a *Attached) bridgeOf(port string) *snapshot.Device {
	d := a.device(port)
	if d == nil || d.Master == "" || !a.isBridge(d.Master) {
		return nil
	}
	return a.device(d.Master)
}

func (a *Attached) device(name string) *snapshot.Device {
	i, known := a.at[name]
	if !known {
		return nil
	}
	return &a.Devices[i]
}

// networkOf is the bridge's own address in the network that an address is of; invalid if it has no such network.
func networkOf(bridge *snapshot.Device, address netip.Addr) netip.Prefix {
	for _, own := range bridge.Addresses {
		if own.Prefix.Contains(address) && own.Prefix.Addr() != address {
			return own.Prefix
		}
	}
	return netip.Prefix{}
}

func unspecified(a netip.Addr) netip.Addr {
	if a.Is6() {
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
}
