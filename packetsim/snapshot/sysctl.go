package snapshot

import "strings"

// sysctlFiles are the settings under /proc/sys/net that decide where a packet goes. The device
// part of a name stands as it is, also where it holds a dot.
func sysctlFiles() []string {
	return []string{
		"ipv4/ip_forward",
		"ipv4/ip_forward_update_priority",
		"ipv4/ip_forward_use_pmtu",
		"ipv4/ip_default_ttl",
		"ipv4/ip_local_port_range",
		"ipv4/ip_nonlocal_bind",
		"ipv4/fwmark_reflect",
		"ipv4/icmp_echo_ignore_all",
		"ipv4/fib_multipath_hash_policy",
		"ipv4/conf/*/accept_local",
		"ipv4/conf/*/forwarding",
		"ipv4/conf/*/route_localnet",
		"ipv4/conf/*/rp_filter",
		"ipv4/conf/*/send_redirects",
		"ipv4/conf/*/src_valid_mark",
		"ipv4/conf/*/ignore_routes_with_linkdown",
		"ipv6/bindv6only",
		"ipv6/fwmark_reflect",
		"ipv6/fib_multipath_hash_policy",
		"ipv6/conf/*/disable_ipv6",
		"ipv6/conf/*/forwarding",
		"ipv6/conf/*/ignore_routes_with_linkdown",
		"bridge/bridge-nf-*",
		"netfilter/nf_conntrack_*",
	}
}

// isSysctlOfMoment tells counters from settings: they differ each time they are read.
func isSysctlOfMoment(name string) bool {
	return strings.HasSuffix(name, "nf_conntrack_count")
}

// KeepsSysctl says whether a snapshot has a setting: those under net. that decide where a packet goes. The name is spelled with dots.
func KeepsSysctl(name string) bool {
	rest, ok := strings.CutPrefix(name, "net.")
	if !ok || isSysctlOfMoment(name) {
		return false
	}
	for _, pattern := range sysctlFiles() {
		before, after, open := strings.Cut(strings.ReplaceAll(pattern, "/", "."), "*")
		if rest == before || open && len(rest) > len(before)+len(after) && strings.HasPrefix(rest, before) && strings.HasSuffix(rest, after) {
			return true
		}
	}
	return false
}
