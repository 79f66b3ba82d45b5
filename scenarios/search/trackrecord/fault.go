package trackrecord

// Fault is a bug that is made again.
type Fault struct {
	// Name switches it on.
	Name string
	// bug is its number in the project's list of known bugs, 0 if it is not there.
	bug int
	// Issues are numbers of issues and pull requests of kubernetes/kubernetes.
	Issues []int
	// What is wrong, in words.
	What string
}

// Variable is the environment variable that names the fault of a process.
const Variable = "CHAINWALK_FAULT"

// Faults returns all of them, in the order of the list of known bugs.
func Faults() []Fault {
	return []Fault{
		{"hairpin-keeps-source", 1, []int{20475}, "a pod that reaches itself through its service keeps its own address as the source"},
		{"mark-kept", 2, []int{78948, 88986, 92035},
			"the mark stays on a packet that was masqueraded, so that it is again when it is encapsulated"},
		{"postrouting-not-emptied", 2, []int{78948, 92035}, "rules of the version before stay above the new ones in KUBE-POSTROUTING"},
		{"masquerade-all-ignored", 4, []int{12843}, "masqueradeAll does nothing"},
		{"outside-not-masqueraded", 4, []int{12843}, "traffic to cluster IPs that is not of the node's pods keeps its source"},
		{"invalid-passes", 5, []int{74839}, "a segment outside of the window gets past address translation"},
		{"invalid-dropped-when-liberal", 6, []int{94861, 120412},
			"packets that conntrack finds invalid are dropped though the kernel is liberal"},
		{"udp-flows-to-gone-endpoints-kept", 9, []int{19029, 59368, 42473}, "conntrack entries stay when an endpoint goes"},
		{"udp-flows-of-former-addresses-kept", 9, []int{42473}, "conntrack entries stay when a service goes, or gets another address or port"},
		{"udp-flows-of-external-addresses-kept", 9, []int{59368},
			"conntrack entries to external addresses and node ports stay when an endpoint goes"},
		{"udp-flows-untranslated-kept", 10, []int{48370}, "conntrack entries of packets that came before there was an endpoint stay"},
		{"udp-changes-lost-by-failure", 12, []int{112604, 125467}, "a restore that fails loses what conntrack entries to look for"},
		{"udp-changes-lost-by-conntrack", 12, []int{112604, 125467}, "a search in conntrack that fails is not tried again"},
		{"udp-flows-without-endpoints-kept", 14, []int{139628, 139629}, "conntrack entries of a service without endpoints are not looked at"},
		{"cluster-ips-not-refused", 17, []int{17359}, "a cluster IP without endpoints answers nothing"},
		{"external-ips-not-refused", 17, []int{44516, 44547}, "an external IP without endpoints answers nothing"},
		{"node-ports-not-refused", 17, []int{43212, 43415}, "a node port without endpoints is left to a process of the host"},
		{"node-ports-always-refused", 17, []int{43415}, "a node port is refused even with endpoints"},
		{"refused-to-the-node-only", 18, []int{48719}, "cluster IPs without endpoints are refused to the node itself, and pods wait"},
		{"services-walked-by-input", 19, []int{95252, 56164, 74394}, "every packet for the node walks the rules of all services"},
		{"external-ips-not-refused-to-input", 19, []int{95252, 56164, 74394},
			"external destinations without endpoints are refused on FORWARD only"},
		{"refused-without-any-endpoint-only", 21, []int{106030, 106182}, "endpoints that are not ready keep a service from being refused"},
		{"affinity-to-unready-endpoints", 21, []int{106030, 106182}, "a client sticks to its endpoint though that is not ready any more"},
		{"unused-endpoints-written", 21, []int{106030, 106182}, "endpoints that are not used have chains"},
		{"endpoints-lag", 23, []int{99299}, "endpoints in the place of as many others are not written"},
		{"health-check-lags", 23, []int{99299}, "the health check of a service does not follow its endpoints"},
		{"health-check-counts-draining", 23, []int{99299}, "the health check counts endpoints that new connections do not reach"},
		{"zone-change-missed", 25, nil, "the node's zone changes and the endpoints do not"},
		{"incomplete-hints-obeyed", 25, nil, "zone hints are obeyed though a ready endpoint has none"},
		{"hints-of-unready-count", 25, nil, "hints of endpoints that are not ready decide"},
		{"node-hints-ignored", 25, nil, "hints for this node are ignored"},
		{"drops-by-kubelet-chain", 27, []int{110289, 85572, 80462}, "rules jump to a chain that only kubelet makes"},
		{"firewall-does-not-drop", 27, []int{110289, 85572}, "sources that may not use the load balancer are not dropped"},
		{"node-refused-by-firewall", 27, []int{110289}, "the node may use the load balancer, but not with that address as its own"},
		{"loopback-unguarded", 30, []int{90259, 92315}, "neighbours reach loopback addresses of the node"},
		{"health-check-port-closed", 32, []int{97225, 97824}, "a health check port does not pass an INPUT chain of policy DROP"},
		{"marked-not-forwarded", 32, []int{39823}, "service traffic does not pass a FORWARD chain of policy DROP"},
		{"replies-not-forwarded", 32, []int{39823}, "replies of service traffic do not pass a FORWARD chain of policy DROP"},
		{"affinity-too-short", 34, []int{35677}, "affinity lasts a sixtieth of its time"},
		{"affinity-lost-by-change", 37, []int{13299}, "a client loses its endpoint when another one comes or goes"},
		{"deleted-chains-not-declared", 38, []int{121362, 122048}, "a chain that was there once is taken to be there still"},
		{"failed-stays-partial", 38, []int{121362, 122048}, "after a restore that failed the next one is partial again"},
		{"removal-missed", 40, []int{47589}, "a slice that goes is not noticed"},
		{"flush-missed", 42, []int{81517}, "tables that somebody else flushed are not written again"},
		{"healthy-while-failing", 43, []int{105742}, "the node says that it is healthy though no rules are written"},
		{"unused-chains-kept", 44, []int{110334}, "chains that are out of use are never deleted"},
		{"used-again-deleted", 44, []int{110334}, "in a large cluster a chain that is in use again is deleted"},
		{"jumps-doubled", 45, []int{82361, 76431}, "a rule that is there is never found, and is added again"},
		{"no-op-written", 48, []int{34006}, "an update that changes nothing writes rules"},
		{"leading-zeros-octal", 49, nil, "leading zeros make an address octal"},
		{"conntrack-before-rules", 0, nil, "conntrack entries are deleted before the rules are written, so the next packet makes them anew"},
	}
}

// Absent is what NotMade says of a number that the list of known bugs does not have.
const Absent = "not in the list"

// NotMade says of the other numbers in the list of known bugs why they are not made
// again.
func NotMade() map[int]string {
	return map[int]string{
		3:  "of the kernel: two flows get one source port only if they race; that --random-fully is asked for is held by tests",
		7:  "the shipped rules have it, as kube-proxy's have: there is no rule for INPUT",
		8:  Absent,
		11: Absent,
		13: Absent,
		15: "of netlink: how long the kernel takes for each deletion",
		16: Absent,
		20: "by design: a node port comes before a process of the host",
		22: Absent,
		24: Absent,
		26: Absent,
		28: "by design: source ranges do not guard node ports",
		29: "of the tool: a rule is read back without a match",
		31: "by design: an external IP captures any address",
		33: Absent,
		35: "the shipped rules have it, as kube-proxy's have: each new connection renews the affinity",
		36: "by design: affinity is of one port",
		39: Absent,
		41: "there are no sockets that hold node ports any more",
		46: "of the tool: legacy and nft tables do not see each other",
		47: "of the tool: a library of another version stores other bytes",
	}
}
