package anonymise

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// nodeRenamer makes other snapshots of nodes, with their rules and sets.
type nodeRenamer struct{ *Renamer }

// snapshot is another snapshot in the place of one: a new one. File is what errors call it.
func (r nodeRenamer) snapshot(file string, old *snapshot.NodeSnapshot) (*snapshot.NodeSnapshot, error) {
	out := &snapshot.NodeSnapshot{
		Version: old.Version, Hostname: r.Name("node", old.Hostname), Taken: r.when(old.Taken), Order: slices.Clone(old.Order),
		Sysctls: r.sysctls(old.Sysctls), NFTables: r.nfTables(old.NFTables),
	}
	for i := range old.Devices {
		out.Devices = append(out.Devices, r.deviceOf(&old.Devices[i]))
	}
	for _, route := range old.Routes {
		out.Routes = append(out.Routes, r.route(route))
	}
	for _, rule := range old.PolicyRules {
		rule.From, rule.To, rule.In, rule.Out = r.Prefix(rule.From), r.Prefix(rule.To), r.deviceIf(rule.In), r.deviceIf(rule.Out)
		out.PolicyRules = append(out.PolicyRules, rule)
	}
	for _, c := range old.Conntrack {
		for _, tuple := range []*snapshot.Tuple{&c.Original, &c.Reply} {
			tuple.Src, tuple.Dst = r.Address(tuple.Src), r.Address(tuple.Dst)
		}
		out.Conntrack = append(out.Conntrack, c)
	}
	for _, object := range old.NFAcct {
		object.Name = r.account(object.Name)
		out.NFAcct = append(out.NFAcct, object)
	}
	for i, t := range out.NFTables {
		if old.NFTables[i].Rules != "" { // they have addresses and names of all kinds
			out.Unread = append(out.Unread, snapshot.Unread{What: "nftables table " + t.Family + " " + t.Name,
				Why: "not supported: its rules were left out when names and addresses were replaced"})
		}
	}
	for _, u := range old.Unread {
		out.Unread = append(out.Unread, r.unread(u))
	}
	var err error
	if out.IPSets, err = r.sets(file+": ipsets", old.IPSets); err != nil {
		return nil, err
	}
	rulesets, err := old.Rulesets()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i := range old.IPTables {
		rules := old.IPTables[i]
		if rules.Save, err = r.save(fmt.Sprintf("%s: iptables[%d].save", file, i), rules.Save, &rulesets[i]); err != nil {
			return nil, err
		}
		out.IPTables = append(out.IPTables, rules)
	}
	return out, nil
}

// deviceIf is Device for a field that may be empty.
func (r nodeRenamer) deviceIf(old string) string {
	if old == "" {
		return ""
	}
	return r.Device(old)
}

// kind is a word that the kernel has for a kind of devices.
var kind = lazyregexp.New(`^[a-z][a-z0-9_]*$`)

func (r nodeRenamer) deviceOf(old *snapshot.Device) snapshot.Device {
	out := snapshot.Device{
		Name: r.Device(old.Name), Index: old.Index, Kind: kind().FindString(old.Kind), MTU: old.MTU, MAC: r.mac(old.MAC), Up: old.Up,
		Master: r.deviceIf(old.Master), Group: old.Group, PeerNetns: old.PeerNetns, Hairpin: old.Hairpin,
		Neighbours: r.Addresses(old.Neighbours),
	}
	for _, a := range old.Addresses {
		r.keepEnds(a.Prefix)
		a.Prefix, a.Broadcast = netip.PrefixFrom(r.Address(a.Prefix.Addr()), a.Prefix.Bits()), r.Address(a.Broadcast)
		out.Addresses = append(out.Addresses, a)
	}
	if v := old.VXLAN; v != nil {
		out.VXLAN = &snapshot.VXLAN{ID: v.ID, Port: v.Port, Local: r.Address(v.Local)}
		for _, remote := range v.Remotes {
			out.VXLAN.Remotes = append(out.VXLAN.Remotes,
				snapshot.Remote{Neighbour: r.Address(remote.Neighbour), Remote: r.Address(remote.Remote)})
		}
	}
	return out
}

// keepEnds has the first and the last address of a network of IPv4, which is that for all, stay what they are to it.
func (r nodeRenamer) keepEnds(network netip.Prefix) {
	if !network.IsValid() || !network.Addr().Is4() {
		return
	}
	last := network.Masked().Addr().As4()
	for bit := network.Bits(); bit < 32; bit++ {
		last[bit/8] |= 0x80 >> (bit % 8)
	}
	r.keepRange(network.Masked().Addr(), netip.AddrFrom4(last))
}

// protocols are who makes routes, in the words of iproute2.
var protocols = lazyregexp.New(`^(?:[0-9]+|kernel|boot|static|ra|redirect|dhcp|bird|zebra|bgp|ospf|isis|rip|babel|eigrp|keepalived|` +
	`mrouted)$`)

func (r nodeRenamer) route(old snapshot.Route) snapshot.Route {
	out := old
	out.Dst, out.Via, out.Src, out.Dev = r.Prefix(old.Dst), r.Address(old.Via), r.Address(old.Src), r.deviceIf(old.Dev)
	out.Protocol = protocols().FindString(old.Protocol)
	out.NextHops = nil
	for _, hop := range old.NextHops {
		hop.Via, hop.Dev = r.Address(hop.Via), r.Device(hop.Dev)
		out.NextHops = append(out.NextHops, hop)
	}
	return out
}

var (
	ofDevice = lazyregexp.New(`^(net\.ipv[46]\.conf\.)(.+)(\.[a-z_0-9]+)$`)
	settings = lazyregexp.New(`^[-0-9\s]*$`)
)

// sysctls are the settings that decide where packets go, by the other names of devices. All of them are numbers.
func (r nodeRenamer) sysctls(old map[string]string) map[string]string {
	var out map[string]string
	for key, value := range old {
		if !snapshot.KeepsSysctl(key) || !settings().MatchString(value) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[r.sysctl(key)] = value
	}
	return out
}

// sysctl is the key of a setting, by the other name of its device.
func (r nodeRenamer) sysctl(key string) string {
	m := ofDevice().FindStringSubmatch(key)
	if m == nil || m[2] == "all" || m[2] == "default" || m[2] == "*" {
		return key
	}
	// sysctl spells a dot in a name as a slash.
	return m[1] + strings.ReplaceAll(r.Device(strings.ReplaceAll(m[2], "/", ".")), ".", dotIn(m[2])) + m[3]
}

// dotIn is how the dots of a device's name are spelled in the key of a setting.
func dotIn(name string) string {
	if strings.Contains(name, "/") {
		return "/"
	}
	return "."
}

// The names of native tables and base chains that programs have everywhere.
var (
	tables = lazyregexp.New(`^(?:raw|mangle|nat|filter|security|kube-proxy|firewalld|cilium|calico|cali|antrea|flannel-ipv[46]|` +
		`ovn-kubernetes|kube-network-policies|kindnet[a-z-]*|docker-bridges|fw4|nixos-fw|libvirt_network|podman|netavark|` +
		`f2b-table|inet|main|global)$`)
	hookChains = lazyregexp.New(`^(?i:(?:(?:raw|mangle|nat|filter)[-_])?(?:prerouting|input|forward|output|postrouting|ingress|egress))$`)
)

func (r nodeRenamer) nfTables(old []snapshot.NFTable) []snapshot.NFTable {
	var out []snapshot.NFTable
	for _, t := range old {
		table := snapshot.NFTable{Family: t.Family, Name: r.nfName("table", t.Name)}
		for _, c := range t.Chains {
			chain := snapshot.NFChain{
				Name: r.nfName("chain", c.Name), Hook: c.Hook, Priority: c.Priority, Device: r.deviceIf(c.Device),
				Type: kept(c.Type, "filter", "nat", "route"), May: slices.Clone(c.May),
			}
			for _, m := range c.Only {
				m.Src, m.Dst, m.In = r.Prefix(m.Src), r.Prefix(m.Dst), r.deviceIf(m.In)
				chain.Only = append(chain.Only, m)
			}
			table.Chains = append(table.Chains, chain)
		}
		out = append(out, table)
	}
	return out
}

func (r nodeRenamer) nfName(kind, old string) string {
	known := tables
	if kind == "chain" {
		known = hookChains
	}
	if known().MatchString(old) {
		return old
	}
	if kind == "chain" {
		return r.Chain(old)
	}
	return r.Name(kind, old)
}
