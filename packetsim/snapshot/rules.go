package snapshot

import (
	"io"
	"net/netip"
	"os"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

// RulesDevice is the device of a host of which no more than its rules is known.
const RulesDevice = "eth0"

// RulesOptions are what is known of a host beside its rules. The zero value: nothing is known.
type RulesOptions struct {
	// Local are the host's own addresses, those of RulesDevice.
	Local []netip.Addr
	// Devices are devices that packets may come by, beside RulesDevice.
	Devices []string
	// Family is the only family whose rules HostOfSave reads, as a packet has one; both if it is 0. Rules that do not tell their family are of
	// it, or of IPv4.
	Family netfilter.Family
	// Dialect is the only backend whose rules HostOfSave reads where the text has those of both, and that of rules that do not tell theirs.
	// Where it is empty, both are read, and the rules that do not tell theirs are legacy.
	Dialect netfilter.Dialect
}

// hostOfRules is a host with these rules: what is not for an address of its own it forwards by RulesDevice.
func hostOfRules(rules *netfilter.Namespace, o RulesOptions) (*packetsim.Host, error) {
	eth := packetsim.Device{Name: RulesDevice, Up: true}
	for _, a := range o.Local {
		eth.Addresses = append(eth.Addresses, packetsim.Address{Prefix: netip.PrefixFrom(a, a.BitLen())})
	}
	config := packetsim.HostConfig{
		Name:    "node",
		Devices: []packetsim.Device{eth},
		Routes: []packetsim.Route{
			{Dst: netip.PrefixFrom(netip.IPv4Unspecified(), 0), Dev: RulesDevice},
			{Dst: netip.PrefixFrom(netip.IPv6Unspecified(), 0), Dev: RulesDevice},
		},
		Sysctls:   map[string]string{"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"},
		Netfilter: rules,
	}
	for _, name := range o.Devices {
		there := slices.ContainsFunc(config.Devices, func(d packetsim.Device) bool { return d.Name == name })
		if !there && name != "lo" {
			config.Devices = append(config.Devices, packetsim.Device{Name: name, Up: true})
		}
	}
	return packetsim.NewHost(config)
}

// HostOfSave is hostOfRules for what iptables-save and ip6tables-save have printed, as ReadSaved reads it.
func HostOfSave(name string, r io.Reader, o RulesOptions) (*packetsim.Host, error) {
	saved, err := ReadSaved(name, r, o)
	if err != nil {
		return nil, err
	}
	return hostOfRules(saved.kernel.Namespace(), o)
}

// OpenHost reads the snapshot of a node from a file, and makes a host of it.
func OpenHost(file string, o HostOptions) (*packetsim.Host, error) {
	r, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read
	node, err := Read(file, r)
	if err != nil {
		return nil, err
	}
	return NewHost(node, o)
}

// tablesOfIPTables are the tables that iptables, ip6tables and their save programs know.
var tablesOfIPTables = []string{"raw", "mangle", "nat", "filter", "security"}
