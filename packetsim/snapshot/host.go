package snapshot

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nfacct"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// HostOptions says how a Host is built from a NodeSnapshot.
type HostOptions struct {
	// Backend is "legacy" or "nft": the only rules to take. Empty is those of every backend that holds some.
	Dialect netfilter.Dialect
	// Netfilter is "legacy" or "nft": the backend whose rules Host.Netfilter has if both are taken; the other's are in the kernel beside it.
	// Empty is legacy.
	Netfilter netfilter.Dialect
	// First is "legacy" or "nft": the backend whose chains packets meet first where NodeSnapshot.Order does not say. Empty is nft.
	First netfilter.Dialect
	// Forget says of which sets of native tables the Host gets no elements, by the names of table and set. Nil: of none.
	Forget func(table, set string) bool
	// clock is the host's; nil is a clock that stands still.
	clock clock.PassiveClock
}

// NewHost builds a Host. The kernel runs the rules of both iptables backends, legacy
// and nft, at the same hooks, and so does the Host, unless HostOptions.Dialect chooses one. A backend whose chains are all empty and accept
// is left out where the other one holds rules. IP sets that a Host cannot hold are an error if a rule names a set, and left out otherwise.
func NewHost(s *NodeSnapshot, options HostOptions) (*packetsim.Host, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("snapshot of %s: %w", s.Hostname, err)
	}
	config := packetsim.HostConfig{
		Name: s.Hostname, OnlyGivenRoutes: true, Sysctls: s.sysctls(), Clock: options.clock,
	}
	for i := range s.Devices {
		config.Devices = append(config.Devices, s.Devices[i].device())
	}
	for i := range s.Routes {
		config.Routes = append(config.Routes, s.Routes[i].route())
	}
	for _, rule := range s.PolicyRules {
		config.PolicyRules = append(config.PolicyRules, packetsim.PolicyRule(rule))
	}
	for i := range s.Conntrack {
		config.Conntrack = append(config.Conntrack, s.Conntrack[i].entry())
	}
	var err error
	if config.Netfilter, err = s.netfilter(options); err != nil {
		return nil, fmt.Errorf("snapshot of %s: %w", s.Hostname, err)
	}
	return packetsim.NewHost(config)
}

func (d *Device) device() packetsim.Device {
	device := packetsim.Device{Name: d.Name, Index: d.Index, Kind: d.Kind, MTU: d.MTU, MAC: d.MAC, Up: d.Up, Master: d.Master,
		Group: d.Group, Hairpin: d.Hairpin, Neighbours: slices.Clone(d.Neighbours), VXLAN: d.VXLAN.vxlan()}
	for _, a := range d.Addresses {
		device.Addresses = append(device.Addresses, packetsim.Address(a))
	}
	return device
}

func (v *VXLAN) vxlan() *packetsim.VXLAN {
	if v == nil {
		return nil
	}
	tunnel := &packetsim.VXLAN{ID: v.ID, Port: v.Port, Local: v.Local}
	for _, r := range v.Remotes {
		if tunnel.Remotes == nil {
			tunnel.Remotes = map[netip.Addr]netip.Addr{}
		}
		tunnel.Remotes[r.Neighbour] = r.Remote
	}
	return tunnel
}

func vxlanOf(v *packetsim.VXLAN) *VXLAN {
	if v == nil {
		return nil
	}
	s := &VXLAN{ID: v.ID, Port: v.Port, Local: v.Local}
	for _, neighbour := range slices.SortedFunc(maps.Keys(v.Remotes), netip.Addr.Compare) {
		s.Remotes = append(s.Remotes, Remote{neighbour, v.Remotes[neighbour]})
	}
	return s
}

func (r *Route) route() packetsim.Route {
	route := packetsim.Route{
		Dst: r.Dst, Type: r.Type, Via: r.Via, Dev: r.Dev, Src: r.Src, Table: r.Table, Metric: r.Metric, Scope: r.Scope, Protocol: r.Protocol,
		Realms: r.Realms,
	}
	for _, hop := range r.NextHops {
		route.NextHops = append(route.NextHops, packetsim.NextHop(hop))
	}
	return route
}

func (c *Connection) entry() conntrack.Entry {
	return conntrack.Entry{
		Original: conntrack.Tuple(c.Original), Reply: conntrack.Tuple(c.Reply), State: c.State, Timeout: c.Timeout,
		Replied: c.Replied, Assured: c.Assured, Mark: c.Mark, Zone: c.zone(),
	}
}

func (c *Connection) zone() conntrack.Zone {
	return conntrack.Zone{Original: c.Zone + c.OrigZone, Reply: c.Zone + c.ReplyZone}
}

func connectionOf(c conntrack.Entry) Connection {
	s := Connection{
		Original: Tuple(c.Original), Reply: Tuple(c.Reply), State: c.State, Timeout: c.Timeout,
		Replied: c.Replied, Assured: c.Assured, Mark: c.Mark,
	}
	if c.Zone.Original == c.Zone.Reply {
		s.Zone = c.Zone.Original
	} else {
		s.OrigZone, s.ReplyZone = c.Zone.Original, c.Zone.Reply
	}
	return s
}

func (a *NFAcct) object() nfacct.Object {
	return nfacct.Object{Name: a.Name, Packets: a.Packets, Bytes: a.Bytes, Mode: a.Mode, Quota: a.Quota, Over: a.Over}
}

// Of is the host as a NodeSnapshot. What a Host does not keep is not in it, the peers of
// veths, and not the lists of the recent match, which are named in Unread.
func Of(h *packetsim.Host) (*NodeSnapshot, error) {
	config := h.Config()
	s := &NodeSnapshot{Version: Version, Hostname: config.Name, Sysctls: config.Sysctls}
	for i := range config.Devices {
		s.Devices = append(s.Devices, deviceOf(&config.Devices[i], i))
	}
	for _, r := range config.Routes {
		s.Routes = append(s.Routes, routeOf(r))
	}
	for _, rule := range config.PolicyRules {
		s.PolicyRules = append(s.PolicyRules, PolicyRule(rule))
	}
	for _, c := range config.Conntrack {
		s.Conntrack = append(s.Conntrack, connectionOf(c))
	}
	recent := h.RecentLists()
	for _, name := range slices.Sorted(maps.Keys(recent)) {
		if n := recent[name]; n > 0 {
			s.Unread = append(s.Unread, recentUnread(name, n))
		}
	}
	if err := s.addNetfilter(config.Netfilter); err != nil {
		return nil, fmt.Errorf("snapshot of host %s: %w", h.Name(), err)
	}
	return s, nil
}

// recentUnread says that a list of the recent match is left out: session affinity begins anew
// on a Host built from the snapshot.
func recentUnread(name string, addresses int) Unread {
	return Unread{What: "recent list " + name, Why: fmt.Sprintf("not supported: a snapshot does not hold its %d addresses", addresses)}
}

func deviceOf(d *packetsim.Device, i int) Device {
	device := Device{Name: d.Name, Index: d.Index, Kind: d.Kind, MTU: d.MTU, MAC: d.MAC, Up: d.Up, Master: d.Master,
		Group: d.Group, Hairpin: d.Hairpin, Neighbours: slices.Clone(d.Neighbours), VXLAN: vxlanOf(d.VXLAN)}
	if device.Index == 0 {
		device.Index = i + 1
	}
	for _, a := range d.Addresses {
		device.Addresses = append(device.Addresses, Address(a))
	}
	return device
}

func routeOf(r packetsim.Route) Route {
	if r.Table == 0 {
		r.Table = packetsim.TableMain
	}
	s := Route{
		Dst: r.Dst, Type: r.Type, Via: r.Via, Dev: r.Dev, Src: r.Src, Table: r.Table, Metric: r.Metric, Scope: r.Scope, Protocol: r.Protocol,
		Realms: r.Realms,
	}
	for _, hop := range r.NextHops {
		s.NextHops = append(s.NextHops, NextHop{hop.Via, hop.Dev, max(hop.Weight, 1)})
	}
	if len(s.NextHops) > 0 {
		s.Via, s.Dev = netip.Addr{}, "" // as a Host, which takes the next hops
	}
	return s
}

func savedRules(kernel *fakeipt.Kernel, family netfilter.Family) (string, error) {
	tool := "iptables-save"
	if family == netfilter.IPv6 {
		tool = "ip6tables-save"
	}
	var stdout, stderr strings.Builder
	if status := kernel.Run([]string{tool, "-c"}, strings.NewReader(""), &stdout, &stderr); status != 0 {
		return "", fmt.Errorf("%s: exit status %d: %s", tool, status, strings.TrimSpace(stderr.String()))
	}
	var save strings.Builder
	for line := range strings.Lines(stdout.String()) {
		if !strings.HasPrefix(line, "#") {
			save.WriteString(line)
		}
	}
	return save.String(), nil
}
