package trackrecord

import (
	"slices"

	"github.com/chainwalk/chainwalk/scenarios"
)

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
	// Mode is the mode of kube-proxy to look for it in: iptables if it is empty.
	Mode scenarios.Mode
}

// Variable is the environment variable that names the fault of a process.
const Variable = "CHAINWALK_FAULT"

// Faults returns all of them, in the order of the list of known bugs, those of mode nftables last.
func Faults() []Fault {
	return slices.Concat(faultsOfIPTables, faultsOfNFTables)
}

// faultsOfIPTables are those of the writer of rules of iptables, and of what both writers stand on.
var faultsOfIPTables = []Fault{
	{Name: "hairpin-keeps-source", bug: 1, Issues: []int{20475},
		What: "a pod that reaches itself through its service keeps its own address as the source"},
	{Name: "mark-kept", bug: 2, Issues: []int{78948, 88986, 92035},
		What: "the mark stays on a packet that was masqueraded, so that it is again when it is encapsulated"},
	{Name: "postrouting-not-emptied", bug: 2, Issues: []int{78948, 92035},
		What: "rules of the version before stay above the new ones in KUBE-POSTROUTING"},
	{Name: "masquerade-all-ignored", bug: 4, Issues: []int{12843}, What: "masqueradeAll does nothing"},
	{Name: "outside-not-masqueraded", bug: 4, Issues: []int{12843},
		What: "traffic to cluster IPs that is not of the node's pods keeps its source"},
	{Name: "invalid-passes", bug: 5, Issues: []int{74839}, What: "a segment outside of the window gets past address translation"},
	{Name: "invalid-dropped-when-liberal", bug: 6, Issues: []int{94861, 120412},
		What: "packets that conntrack finds invalid are dropped though the kernel is liberal"},
	{Name: "udp-flows-to-gone-endpoints-kept", bug: 9, Issues: []int{19029, 59368, 42473},
		What: "conntrack entries stay when an endpoint goes"},
	{Name: "udp-flows-of-former-addresses-kept", bug: 9, Issues: []int{42473},
		What: "conntrack entries stay when a service goes, or gets another address or port"},
	{Name: "udp-flows-of-external-addresses-kept", bug: 9, Issues: []int{59368},
		What: "conntrack entries to external addresses and node ports stay when an endpoint goes"},
	{Name: "udp-flows-untranslated-kept", bug: 10, Issues: []int{48370},
		What: "conntrack entries of packets that came before there was an endpoint stay"},
	{Name: "udp-changes-lost-by-failure", bug: 12, Issues: []int{112604, 125467},
		What: "a restore that fails loses what conntrack entries to look for"},
	{Name: "udp-changes-lost-by-conntrack", bug: 12, Issues: []int{112604, 125467},
		What: "a search in conntrack that fails is not tried again"},
	{Name: "udp-flows-without-endpoints-kept", bug: 14, Issues: []int{139628, 139629},
		What: "conntrack entries of a service without endpoints are not looked at"},
	{Name: "cluster-ips-not-refused", bug: 17, Issues: []int{17359}, What: "a cluster IP without endpoints answers nothing"},
	{Name: "external-ips-not-refused", bug: 17, Issues: []int{44516, 44547},
		What: "an external IP without endpoints answers nothing"},
	{Name: "node-ports-not-refused", bug: 17, Issues: []int{43212, 43415},
		What: "a node port without endpoints is left to a process of the host"},
	{Name: "node-ports-always-refused", bug: 17, Issues: []int{43415}, What: "a node port is refused even with endpoints"},
	{Name: "refused-to-the-node-only", bug: 18, Issues: []int{48719},
		What: "cluster IPs without endpoints are refused to the node itself, and pods wait"},
	{Name: "services-walked-by-input", bug: 19, Issues: []int{95252, 56164, 74394},
		What: "every packet for the node walks the rules of all services"},
	{Name: "external-ips-not-refused-to-input", bug: 19, Issues: []int{95252, 56164, 74394},
		What: "external destinations without endpoints are refused on FORWARD only"},
	{Name: "refused-without-any-endpoint-only", bug: 21, Issues: []int{106030, 106182},
		What: "endpoints that are not ready keep a service from being refused"},
	{Name: "affinity-to-unready-endpoints", bug: 21, Issues: []int{106030, 106182},
		What: "a client sticks to its endpoint though that is not ready any more"},
	{Name: "unused-endpoints-written", bug: 21, Issues: []int{106030, 106182}, What: "endpoints that are not used have chains"},
	{Name: "endpoints-lag", bug: 23, Issues: []int{99299}, What: "endpoints in the place of as many others are not written"},
	{Name: "health-check-lags", bug: 23, Issues: []int{99299}, What: "the health check of a service does not follow its endpoints"},
	{Name: "health-check-counts-draining", bug: 23, Issues: []int{99299},
		What: "the health check counts endpoints that new connections do not reach"},
	{Name: "zone-change-missed", bug: 25, What: "the node's zone changes and the endpoints do not"},
	{Name: "incomplete-hints-obeyed", bug: 25, What: "zone hints are obeyed though a ready endpoint has none"},
	{Name: "hints-of-unready-count", bug: 25, What: "hints of endpoints that are not ready decide"},
	{Name: "node-hints-ignored", bug: 25, What: "hints for this node are ignored"},
	{Name: "drops-by-kubelet-chain", bug: 27, Issues: []int{110289, 85572, 80462},
		What: "rules jump to a chain that only kubelet makes"},
	{Name: "firewall-does-not-drop", bug: 27, Issues: []int{110289, 85572},
		What: "sources that may not use the load balancer are not dropped"},
	{Name: "node-refused-by-firewall", bug: 27, Issues: []int{110289},
		What: "the node may use the load balancer, but not with that address as its own"},
	{Name: "loopback-unguarded", bug: 30, Issues: []int{90259, 92315}, What: "neighbours reach loopback addresses of the node"},
	{Name: "health-check-port-closed", bug: 32, Issues: []int{97225, 97824},
		What: "a health check port does not pass an INPUT chain of policy DROP"},
	{Name: "marked-not-forwarded", bug: 32, Issues: []int{39823},
		What: "service traffic does not pass a FORWARD chain of policy DROP"},
	{Name: "replies-not-forwarded", bug: 32, Issues: []int{39823},
		What: "replies of service traffic do not pass a FORWARD chain of policy DROP"},
	{Name: "affinity-too-short", bug: 34, Issues: []int{35677}, What: "affinity lasts a sixtieth of its time"},
	{Name: "affinity-lost-by-change", bug: 37, Issues: []int{13299},
		What: "a client loses its endpoint when another one comes or goes"},
	{Name: "deleted-chains-not-declared", bug: 38, Issues: []int{121362, 122048},
		What: "a chain that was there once is taken to be there still"},
	{Name: "failed-stays-partial", bug: 38, Issues: []int{121362, 122048},
		What: "after a restore that failed the next one is partial again"},
	{Name: "removal-missed", bug: 40, Issues: []int{47589}, What: "a slice that goes is not noticed"},
	{Name: "flush-missed", bug: 42, Issues: []int{81517}, What: "tables that somebody else flushed are not written again"},
	{Name: "healthy-while-failing", bug: 43, Issues: []int{105742},
		What: "the node says that it is healthy though no rules are written"},
	{Name: "unused-chains-kept", bug: 44, Issues: []int{110334}, What: "chains that are out of use are never deleted"},
	{Name: "used-again-deleted", bug: 44, Issues: []int{110334},
		What: "in a large cluster a chain that is in use again is deleted"},
	{Name: "jumps-doubled", bug: 45, Issues: []int{82361, 76431}, What: "a rule that is there is never found, and is added again"},
	{Name: "no-op-written", bug: 48, Issues: []int{34006}, What: "an update that changes nothing writes rules"},
	{Name: "leading-zeros-octal", bug: 49, What: "leading zeros make an address octal"},
	{Name: "conntrack-before-rules",
		What: "conntrack entries are deleted before the rules are written, so the next packet makes them anew"},
}

// faultsOfNFTables are those of the writer of rules of nftables.
var faultsOfNFTables = []Fault{
	{Mode: scenarios.ModeNFTables, Name: "nft-refused-before-translation", Issues: []int{131765, 132456},
		What: "a load balancer without local endpoints is dropped for the node itself, as what is refused is decided before translation"},
	{Mode: scenarios.ModeNFTables, Name: "nft-source-ranges-after-translation", Issues: []int{122614},
		What: "source ranges of load balancers are checked after translation, when the address is the endpoint's"},
	{Mode: scenarios.ModeNFTables, Name: "nft-interface-by-index", Issues: []int{134024},
		What: "pods are known by a device that has to be there when the rules are written"},
	{Mode: scenarios.ModeNFTables, Name: "nft-chains-deleted-at-once", Issues: []int{122604, 128829},
		What: "a chain is deleted by the transaction that empties it, while elements lead to it still"},
	{Mode: scenarios.ModeNFTables, Name: "nft-elements-kept", Issues: []int{126013},
		What: "a partial sync leaves the elements of what is gone"},
	{Mode: scenarios.ModeNFTables, Name: "nft-elements-missed", Issues: []int{126013},
		What: "a partial sync forgets the elements that lead to what is new"},
	{Mode: scenarios.ModeNFTables, Name: "nft-clients-lost-by-restart", Issues: []int{130119, 122740},
		What: "a restart makes the table anew, and clients lose their endpoints"},
	{Mode: scenarios.ModeNFTables, Name: "nft-hairpin-keeps-source", Issues: []int{135800},
		What: "a pod that reaches itself through its service keeps its own address as the source"},
	{Mode: scenarios.ModeNFTables, Name: "nft-hairpin-of-unplaced-endpoints", Issues: []int{135800},
		What: "an endpoint without a node name that reaches itself keeps its own address as the source"},
	{Mode: scenarios.ModeNFTables, Name: "nft-mark-kept", Issues: []int{92035},
		What: "the mark stays on a packet that was masqueraded, so that it is again when it is encapsulated"},
	{Mode: scenarios.ModeNFTables, Name: "nft-owner-of-the-day",
		What: "the service that came last takes an external address from the one that has it"},
	{Mode: scenarios.ModeNFTables, Name: "nft-affinity-timeout-kept", What: "another timeout of an affinity counts only for new endpoints"},
	{Mode: scenarios.ModeNFTables, Name: "nft-echo-refused", What: "echo requests to cluster IPs are refused"},
	{Mode: scenarios.ModeNFTables, Name: "nft-node-ports-of-others", Issues: []int{111863},
		What: "node ports are served at addresses that are not the node's"},
	{Mode: scenarios.ModeNFTables, Name: "nft-free-ports-pass", Issues: []int{122692},
		What: "ports of cluster IPs that no service has are not refused"},
	{Mode: scenarios.ModeNFTables, Name: "nft-local-rejected", What: "what policy Local drops is rejected"},
	{Mode: scenarios.ModeNFTables, Name: "nft-base-chains-not-moved", Issues: []int{123162},
		What: "chains that another version has put at other places of the hooks cannot be moved, and all syncs fail"},
	{Mode: scenarios.ModeNFTables, Name: "nft-unused-chains-kept", What: "chains that are out of use are never deleted"},
	{Mode: scenarios.ModeNFTables, Name: "nft-used-chains-deleted", Issues: []int{122604, 128829},
		What: "a chain that is in use again is still to be deleted, which the kernel refuses, and others with it"},
	{Mode: scenarios.ModeNFTables, Name: "nft-node-addresses-wait",
		What: "another address of the node serves node ports only after the next full sync"},
	{Mode: scenarios.ModeNFTables, Name: "nft-service-cidrs-wait", What: "another ServiceCIDR counts only after the next full sync"},
	{Mode: scenarios.ModeNFTables, Name: "nft-deleted-table-stays-away", What: "a table that somebody else deleted is not written again"},
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
