package snapshot

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// setting is a sysctl that decides where packets go.
type setting struct {
	name   string
	family netfilter.Family
	// assumed is what a node is taken to have that does not say it: what Kubernetes needs, else what the kernel begins with. other is what
	// it could have as well.
	assumed, other string
	ofBridges      bool // without a bridge it is nothing
	ofModule       bool // a kernel has it only while a module is loaded
	optional       bool // a kernel may keep it from namespaces, and it decides about damaged packets alone
}

var settings = []setting{
	{name: "net.ipv4.ip_forward", family: netfilter.IPv4, assumed: "1", other: "0"},
	{name: "net.ipv6.conf.all.forwarding", family: netfilter.IPv6, assumed: "1", other: "0"},
	{name: "net.bridge.bridge-nf-call-iptables", family: netfilter.IPv4, assumed: "1", other: "0", ofBridges: true, ofModule: true},
	{name: "net.bridge.bridge-nf-call-ip6tables", family: netfilter.IPv6, assumed: "1", other: "0", ofBridges: true, ofModule: true},
	{name: "net.ipv4.conf.all.rp_filter", family: netfilter.IPv4, assumed: "0", other: "1"},
	{name: "net.ipv4.conf.all.route_localnet", family: netfilter.IPv4, assumed: "1", other: "0"},
	{name: "net.ipv4.conf.all.accept_local", family: netfilter.IPv4, assumed: "0", other: "1"},
	{name: "net.netfilter.nf_conntrack_tcp_be_liberal", assumed: "0", other: "1", ofModule: true},
	{name: "net.netfilter.nf_conntrack_tcp_loose", assumed: "1", other: "0", ofModule: true},
	{name: "net.netfilter.nf_conntrack_checksum", assumed: "1", other: "0", ofModule: true, optional: true},
}

// ofDevices are the words of settings that decide for each device by itself, beside the value for all devices. IPv6 forwards by the value
// for all alone.
var ofDevices = []string{"forwarding", "rp_filter", "route_localnet", "accept_local"}

const confOf = "net.ipv4.conf."

// LacksSettings notes in Unread which settings decide where packets go and are not among Sysctls, where these are not all that the kernel
// has: why says what they are then. Of a whole list, those of modules are not missed: the kernel does not have what the list does not.
func (s *NodeSnapshot) LacksSettings(whole bool, why string) {
	six := slices.ContainsFunc(slices.Collect(maps.Keys(s.Sysctls)), func(name string) bool { return strings.HasPrefix(name, "net.ipv6.") })
	var missing, ofModules []string
	for _, one := range settings {
		switch {
		case s.knows(one.name) || one.optional:
		case one.ofModule:
			ofModules = append(ofModules, one.name)
		case !whole || one.family == netfilter.IPv4 || six: // a whole list without any of IPv6 is that of a kernel without it
			missing = append(missing, one.name)
		}
	}
	for _, word := range ofDevices {
		if len(s.withoutOwn(word)) > 0 {
			missing = append(missing, confOf+"*."+word)
		}
	}
	if !whole || len(missing) > 0 {
		missing = append(missing, ofModules...)
	}
	for _, name := range missing {
		s.Unread = append(s.Unread, Unread{What: unreadSetting + name, Why: why})
	}
}

// unreadSetting is how Unread calls a setting.
const unreadSetting = "sysctl "

// knows says whether a setting is among those of the snapshot.
func (s *NodeSnapshot) knows(name string) bool {
	_, known := s.Sysctls[name]
	if name == "net.ipv4.ip_forward" && !known {
		_, known = s.Sysctls[confOf+"all.forwarding"]
	}
	return known
}

// withoutOwn are the devices whose own value of a setting is not known.
func (s *NodeSnapshot) withoutOwn(word string) []string {
	var out []string
	for i := range s.Devices {
		name := s.Devices[i].Name
		if _, known := s.Sysctls[confOf+name+"."+word]; !known && name != "lo" {
			out = append(out, name)
		}
	}
	return out
}

// turned is a setting as it was not taken, and may be.
type turned struct {
	setting
	// says is the setting with the other value in words, and values are all that have it then.
	says   string
	values map[string]string
}

// unknownSettings returns the sysctls that a walk reads and that the snapshot does not have.
func (s *NodeSnapshot) unknownSettings() []turned {
	none := s.lacks(UnreadSysctls)
	if !none && !slices.ContainsFunc(s.Unread, func(u Unread) bool { return strings.HasPrefix(u.What, unreadSetting) }) {
		return nil
	}
	bridges := slices.ContainsFunc(s.Devices, func(d Device) bool { return d.Kind == "bridge" })
	var unknown []turned
	for _, one := range settings {
		if !s.knows(one.name) && (bridges || !one.ofBridges) && (none || s.lacks(unreadSetting+one.name)) {
			unknown = append(unknown, turned{one, one.name + " is " + one.other, map[string]string{one.name: one.other}})
		}
	}
	for _, word := range ofDevices {
		if one, is := s.unknownOfDevices(word); is && s.lacks(unreadSetting+one.name) {
			unknown = append(unknown, one)
		}
	}
	return unknown
}

// unknownOfDevices is a setting of the devices whose own value is not known, where it may decide: the value for all devices is known, and
// does not decide alone (IN_DEV_FORWARD, IN_DEV_RPFILTER and IN_DEV_ORCONF in include/linux/inetdevice.h).
func (s *NodeSnapshot) unknownOfDevices(word string) (out turned, is bool) {
	devices := s.withoutOwn(word)
	every, known := s.Sysctls[confOf+"all."+word]
	if word == "forwarding" && !known {
		every, known = s.Sysctls["net.ipv4.ip_forward"]
	}
	if !known || len(devices) == 0 {
		return out, false
	}
	byDefault := s.Sysctls[confOf+"default."+word]
	other := "1"
	switch {
	case word == "forwarding" && every != "0", word != "forwarding" && word != "rp_filter" && byDefault == "1":
		other = "0"
	case word == "rp_filter" && (every == "1" || byDefault == "1"):
		other = "2"
	}
	if word == "rp_filter" && every == "2" || (word == "route_localnet" || word == "accept_local") && every == "1" {
		return out, false
	}
	out = turned{setting: setting{name: confOf + "*." + word, family: netfilter.IPv4, other: other}, values: map[string]string{}}
	for _, device := range devices {
		out.values[confOf+device+"."+word] = other
	}
	out.says = fmt.Sprintf("%s%s.%s is %s", confOf, devices[0], word, other)
	if len(devices) > 1 {
		out.says = fmt.Sprintf("%s is %s for one of its devices", out.name, other)
	}
	return out, true
}

// sysctls are the settings of the node, and what is assumed of those that were not taken.
func (s *NodeSnapshot) sysctls() map[string]string {
	unknown := s.unknownSettings()
	if len(unknown) == 0 {
		return s.Sysctls
	}
	values := map[string]string{}
	for i := range unknown {
		if one := &unknown[i]; one.assumed != "" {
			values[one.name] = one.assumed
		}
	}
	maps.Copy(values, s.Sysctls)
	return values
}
