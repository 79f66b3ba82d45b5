package oracle

import kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

// Mode is a mode of a service proxy, as mode of a KubeProxyConfiguration names it.
type Mode string

// The modes that the specification is about.
const (
	IPTables Mode = "iptables"
	NFTables Mode = "nftables"
)

// ModeOf is the mode that a configuration asks for: mode iptables if it names none, as kube-proxy's default is up to v1.39 (KEP-5343).
func ModeOf(config *kubeproxyconfig.KubeProxyConfiguration) Mode {
	if config != nil && Mode(config.Mode) == NFTables {
		return NFTables
	}
	return IPTables
}

// Sentence is one that tells users of a mode.
type Sentence struct {
	// Document is where it stands: a URL with the section.
	Document string
	// Text is the sentence as the document has it.
	Text string
}

// String is the sentence with its source.
func (s Sentence) String() string { return "\"" + s.Text + "\" (" + s.Document + ")" }

// Difference is what two specifications say differently of an attempt: the clause of the first mode that does otherwise than the other
// one. It is nil if both allow one thing alike. Both are of the same cluster in different modes.
func (s *Spec) Difference(other *Spec, a Attempt) *Clause {
	here, there := s.expect(&a), other.expect(&a)
	if here.Agrees(&there) && here.hearsAs(&there) {
		return nil
	}
	for _, answer := range []*Answer{&here, &there} {
		for _, c := range answer.Clauses() {
			if c.Mode != "" && c.Sentence != (Sentence{}) {
				return c
			}
		}
	}
	return here.because()
}

// hearsAs says whether clients must hear the answers of the same endpoints.
func (a *Answer) hearsAs(o *Answer) bool {
	if a.silenced != o.silenced {
		return false
	}
	if a.Fate != ToEndpoint || o.Fate != ToEndpoint || a.Open || o.Open || len(a.Endpoints) != len(o.Endpoints) {
		return true
	}
	for i := range a.Endpoints {
		if a.Heard(i) != o.Heard(i) || a.stoppedAt(i) != o.stoppedAt(i) {
			return false
		}
	}
	return true
}

// The documents that tell users of mode nftables.
const (
	virtualIPs = "https://kubernetes.io/docs/reference/networking/virtual-ips/#migrating-from-iptables-mode-to-nftables"
	serviceIPs = "https://github.com/kubernetes/enhancements/blob/master/keps/sig-network/" +
		"3866-nftables-proxy/README.md#behavior-of-service-ips"
)

// What mode nftables does otherwise than mode iptables.
var (
	nodePortAtPrimary = &Clause{
		Name: "node-port-at-primary-addresses", Law: "I5", Force: Must, Mode: NFTables,
		Text: "If nodePortAddresses is not set, mode nftables serves node ports at the addresses that the Node object names first in " +
			"each family. At all other addresses of the node the port belongs to the node.",
		Source: []string{"KEP-3866", "kubernetes#122724", "kubernetes#123105"},
		Sentence: Sentence{virtualIPs, "the nftables mode defaults to --nodeport-addresses primary, meaning NodePort services are only " +
			"reachable on the node's primary IPv4 and/or IPv6 addresses"},
	}
	nodePortNotAtLoopback = &Clause{
		Name: "no-node-port-at-loopback", Law: "I9", Force: Must, Mode: NFTables,
		Text:     "Mode nftables serves node ports at no loopback address, whatever nodePortAddresses says.",
		Source:   []string{"KEP-3866", "KEP-6032", "kubernetes#132955"},
		Sentence: Sentence{virtualIPs, "NodePort services on 127.0.0.1: [...] In nftables mode (and ipvs mode), this will not work."},
	}
	unusedPortRejected = &Clause{
		Name: "unused-port-rejected", Law: "I3", Force: Must, Mode: NFTables,
		Text: "Mode nftables rejects a packet of TCP, UDP or SCTP to a cluster IP of a service and a port that no service has there, on " +
			"the first node that forwards or sends it.",
		Source:   []string{"KEP-3866", "kubernetes#122692"},
		Sentence: Sentence{serviceIPs, "Traffic to invalid ports on active cluster IPs will be rejected by the nftables proxy."},
	}
	unassignedIPDropped = &Clause{
		Name: "unassigned-cluster-ip-dropped", Law: "I3", Force: Must, Mode: NFTables,
		Text: "Mode nftables drops a packet to an address in a range of a ServiceCIDR that is the cluster IP of no service, on the first " +
			"node that forwards or sends it. The services of another proxy (other-service-proxy) are none of its services.",
		Source: []string{"KEP-3866", "KEP-1880", "KEP-2447"},
		Sentence: Sentence{serviceIPs, "If the MultiServiceCIDRAllocator feature gate is enabled, it will additionally drop traffic to " +
			"unassigned cluster IPs."},
	}
	firewallDecides = &Clause{
		Name: "firewall-decides", Law: "I5", Force: Must, Mode: NFTables,
		Text: "In mode nftables the proxier accepts no packet for foreign rules. Packets that these do not accept are dropped, also " +
			"masqueraded packets, answers and health checks.",
		Source: []string{"KEP-3866", "Kubernetes documentation: Virtual IPs and Service Proxies"},
		Sentence: Sentence{virtualIPs, "This approach will not work with firewalls based on nftables, so kube-proxy's nftables mode does " +
			"not do anything here; if you have a local firewall, you must ensure that it is properly configured to allow Kubernetes traffic " +
			"through"},
	}
	invalidPacketPasses = &Clause{
		Name: "invalid-packet-passes", Law: "I2", Force: Unspecified, Mode: NFTables,
		Text: "Mode nftables has no rule for packets that conntrack cannot assign to a translated connection: such a packet may pass as " +
			"it was sent.",
		Source:   []string{"KEP-3866"},
		Sentence: Sentence{virtualIPs, "The nftables mode does not install any workaround by default"},
	}
	pingOfClusterIP = &Clause{
		Name: "ping-of-cluster-ip", Law: "I5", Force: Unspecified, Mode: NFTables,
		Text: "In mode nftables an echo request to a cluster IP may pass as it was sent or masqueraded, or be rejected like a port that no " +
			"service has there.",
		Source: []string{"KEP-3866 (\"invalid ports\")", "chainwalk"},
	}
	hairpinElsewhere = &Clause{
		Name: "hairpin-of-another-node", Law: "I4", Force: Unspecified, Mode: NFTables,
		Text: "In mode nftables a packet may go back to the endpoint that sent it by a node that does not have this endpoint. It may then " +
			"keep its source, and be lost.",
		Source: []string{"kubernetes#135800", "kubernetes#136499"},
	}
	loopbackRouted = &Clause{
		Name: "loopback-routed", Law: "I9", Force: Unspecified, Mode: NFTables,
		Text: "Mode iptables has the kernel route packets of IPv4 with loopback addresses (route_localnet), unless localhostNodePorts is off, " +
			"and drops packets to loopback addresses from other addresses, unless conntrack knows the connection. Mode nftables does neither: " +
			"unless something else sets route_localnet, the kernel drops packets with loopback addresses that come from elsewhere or would leave " +
			"the node.",
		Source: []string{"KubeProxyConfiguration.iptables.localhostNodePorts", "kubernetes#90259", "CVE-2020-8558"},
	}
	affinityOfOtherMode = &Clause{
		Name: "affinity-of-another-mode", Law: "I10", Force: Unspecified, Mode: NFTables,
		Text: "A node whose proxy changes its mode may forget which endpoints clients reached. So may mode nftables when the timeout of the " +
			"affinity changes. Mode iptables keeps up to 100 clients of an endpoint (ip_list_tot of xt_recent), mode nftables up to 65535.",
		Source: []string{"KEP-3866", "xt_recent(8)", "nft(8): size of a dynamic set"},
	}
)
