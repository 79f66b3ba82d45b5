package oracle

// Which addresses and ports belong to a service.
var (
	clusterIPServed = &Clause{
		Name: "cluster-ip-served", Law: "I1", Force: Must,
		Text: "A packet of the port's protocol to a cluster IP and port of a service reaches one of its usable endpoints, " +
			"wherever the packet comes from.",
		Source: []string{"v1.ServiceSpec.clusterIPs", "Kubernetes documentation: Virtual IPs and Service Proxies"},
	}
	externalIPServed = &Clause{
		Name: "external-ip-served", Law: "I1", Force: Must,
		Text: "Nodes treat packets to an external IP and a port of the service as packets to the service, even if another " +
			"machine has the address.",
		Source: []string{"v1.ServiceSpec.externalIPs", "kubernetes#97076"},
	}
	balancerServed = &Clause{
		Name: "load-balancer-ip-served", Law: "I1", Force: Must,
		Text:   "Nodes serve the address of a load balancer themselves if its ipMode is VIP or not set.",
		Source: []string{"v1.LoadBalancerIngress.ipMode", "KEP-1860"},
	}
	proxyModeBalancer = &Clause{
		Name: "load-balancer-proxy-untouched", Law: "I5", Force: Must,
		Text:   "Nodes leave an address of ipMode Proxy to the load balancer: what they send there is not translated.",
		Source: []string{"v1.LoadBalancerIngress.ipMode", "KEP-1860"},
	}
	nodePortServed = &Clause{
		Name: "node-port-served", Law: "I1", Force: Must,
		Text: "Every node serves a node port at its addresses (in mode iptables all of them if nodePortAddresses is not set), whether " +
			"or not the node has an endpoint or a process on that port.",
		Source: []string{"v1.ServicePort.nodePort", "KubeProxyConfiguration.nodePortAddresses", "kubernetes#97360"},
	}
	nodePortAddresses = &Clause{
		Name: "node-port-addresses", Law: "I5", Force: Must,
		Text: "Node ports are served only at addresses in one of the ranges of nodePortAddresses; under \"primary\", only at " +
			"those that the Node object names. At all other addresses the port belongs to the node.",
		Source: []string{"KubeProxyConfiguration.nodePortAddresses"},
	}
	unservedNodePort = &Clause{
		Name: "unserved-node-port-blocked", Law: "I5", Force: Unspecified,
		Text: "In mode iptables, at an address of the node that serves no node ports, a packet to a node port of a service without a usable " +
			"endpoint may be rejected, and a packet to a service of externalTrafficPolicy Local without a local endpoint may " +
			"be dropped, as if the address served node ports.",
		Source: []string{"KubeProxyConfiguration.nodePortAddresses", "chainwalk"},
	}
	nodePortRangesOfOtherFamily = &Clause{
		Name: "node-port-ranges-of-other-family", Law: "I5", Force: Unspecified,
		Text:   "If nodePortAddresses has only ranges of the other family, node ports may be served at all addresses or at none.",
		Source: []string{"KubeProxyConfiguration.nodePortAddresses"},
	}
	localhostNodePort = &Clause{
		Name: "localhost-node-port", Law: "I1", Force: Must,
		Text: "In mode iptables a node reaches node ports at 127.0.0.1 over IPv4, unless localhostNodePorts is off or no range of " +
			"nodePortAddresses contains that address.",
		Source: []string{"KubeProxyConfiguration.iptables.localhostNodePorts", "kubernetes#108250"},
	}
	localhostNodePortOff = &Clause{
		Name: "localhost-node-port-off", Law: "I9", Force: Must,
		Text: "With localhostNodePorts off, with nodePortAddresses that do not contain loopback, and over IPv6, node ports are " +
			"not served at loopback addresses.",
		Source: []string{"KubeProxyConfiguration.iptables.localhostNodePorts", "kubernetes#108250"},
	}
	otherLoopbackNodePort = &Clause{
		Name: "other-loopback-node-port", Law: "I9", Force: Unspecified,
		Text:   "If nodePortAddresses has a loopback range, loopback addresses other than 127.0.0.1 may serve node ports or not.",
		Source: []string{"KubeProxyConfiguration.nodePortAddresses"},
	}
	healthPortOpen = &Clause{
		Name: "health-check-port-open", Law: "I3", Force: Must,
		Text: "A packet to the health check node port of a service reaches the node's own process and is never translated; in mode " +
			"iptables whatever the policy of the node's INPUT chain.",
		Source: []string{"v1.ServiceSpec.healthCheckNodePort", "kubernetes#97225"},
	}
	pingUntouched = &Clause{
		Name: "ping-untouched", Law: "I5", Force: Must,
		Text:   "An echo request never belongs to a service, whatever its address.",
		Source: []string{"v1.ServicePort.protocol", "Kubernetes documentation: Service"},
	}
	otherTraffic = &Clause{
		Name: "other-traffic-untouched", Law: "I5", Force: Must,
		Text: "A packet that belongs to no service port passes as it was sent: other addresses, ports and protocols, and " +
			"endpoints called by their own address. Mode nftables has rules for cluster IPs: unused-port-rejected.",
		Source: []string{"Kubernetes documentation: Virtual IPs and Service Proxies", "kubernetes#92035"},
	}
	noVirtualIP = &Clause{
		Name: "no-virtual-ip", Law: "I5", Force: Must,
		Text:   "A service without a cluster IP (headless, ExternalName, not yet assigned) is served at none of its addresses.",
		Source: []string{"v1.ServiceSpec.clusterIP", "v1.ServiceSpec.externalName"},
	}
	otherProxy = &Clause{
		Name: "other-service-proxy", Law: "I5", Force: Must,
		Text: "A Service or EndpointSlice with the label service.kubernetes.io/service-proxy-name, whatever its value, belongs " +
			"to another proxy.",
		Source: []string{"KEP-2447"},
	}
	headlessLabel = &Clause{
		Name: "headless-label", Law: "I5", Force: Must,
		Text:   "A Service or EndpointSlice with the label service.kubernetes.io/headless is not for service proxies.",
		Source: []string{"v1.IsHeadlessService", "KEP-752"},
	}
	otherFamily = &Clause{
		Name: "one-family", Law: "I5", Force: Must,
		Text:   "A service is served only in the families of its cluster IPs, even if it names addresses of the other family.",
		Source: []string{"v1.ServiceSpec.ipFamilies", "KEP-563"},
	}
	oddSpelling = &Clause{
		Name: "leading-zeros-are-decimal", Law: "I11", Force: Must,
		Text:   "Addresses with leading zeros, which old objects may have, are read as decimal numbers.",
		Source: []string{"k8s.io/utils/net: ParseIPSloppy", "CVE-2021-29923"},
	}
	staleField = &Clause{
		Name: "field-of-another-type", Law: "I1", Force: Unspecified,
		Text: "A value in a field that the type of the service does not use, such as the status of a former load balancer, may " +
			"be served or not.",
		Source: []string{"v1.ServiceSpec.type"},
	}
	sameAddressConflict = &Clause{
		Name: "same-address-conflict", Law: "I1", Force: Unspecified,
		Text: "If two services, or a node port and an external IP, have the same address, port and protocol, either may get the " +
			"packet.",
		Source: []string{"v1.ServiceSpec.externalIPs", "kubernetes#97076"},
	}
	endpointIsDestination = &Clause{
		Name: "endpoint-is-a-destination", Law: "I1", Force: Unspecified,
		Text:   "If the address and port of an endpoint are also those of a service, any outcome is allowed.",
		Source: []string{"v1.ServiceSpec.externalIPs"},
	}
	unknownClient = &Clause{
		Name: "unknown-client", Law: "I5", Force: Unspecified,
		Text:   "For clients that do not exist or have no address of the family, any outcome is allowed.",
		Source: []string{"chainwalk"},
	}
	droppedByPolicy = &Clause{
		Name: "dropped-by-policy", Law: "I5", Force: Must,
		Text: "If foreign rules have a chain of policy DROP, a first packet that they do not accept is dropped, whether it goes " +
			"to a service or not. In mode iptables the proxier opens nothing for it but health check node ports, and FORWARD for " +
			"masqueraded packets.",
		Source: []string{"kubernetes#39823", "kubernetes#97225", "iptables(8)"},
	}
	passesForward = &Clause{
		Name: "passes-forward-policy", Law: "I3", Force: Must,
		Text: "In mode iptables a packet that the node masquerades for a service, and a packet of a connection that was answered, " +
			"passes a FORWARD chain of policy DROP, there and back.",
		Source: []string{"kubernetes#39823"},
	}
	strayPasses = &Clause{
		Name: "stray-packet-passes", Law: "I5", Force: Must,
		Text: "If conntrack is set to be liberal, or the node's mode is nftables, a TCP packet that conntrack can assign to no " +
			"connection, not even to one of a service, passes as it was sent: it may be an answer whose request took another way.",
		Source: []string{"kubernetes#94861", "kubernetes#120412"},
	}
	strayDropped = &Clause{
		Name: "stray-packet-dropped", Law: "I5", Force: Unspecified,
		Text:   "In mode iptables, if conntrack is not set to be liberal, such a packet may be dropped or pass.",
		Source: []string{"kubernetes#74839", "kubernetes#94861"},
	}
	filteredByOthers = &Clause{
		Name: "filtered-by-others", Law: "I5", Force: Unspecified,
		Text: "If it is not known what foreign rules on a node accept, they may drop packets that this specification lets pass, and " +
			"the answers to these packets.",
		Source: []string{"kubernetes#39823", "chainwalk"},
	}
)

// Which endpoints of a service take packets.
var (
	readyEndpoints = &Clause{
		Name: "ready-endpoints", Law: "I1", Force: Must,
		Text: "Packets go to ready endpoints, and to no others as long as there is a ready one. A condition that is not set " +
			"means ready.",
		Source: []string{"discovery/v1.EndpointConditions.ready"},
	}
	terminatingFallback = &Clause{
		Name: "terminating-fallback", Law: "I1", Force: Must,
		Text: "If none of the endpoints that the policy allows is ready, packets go to the endpoints that still serve while they " +
			"terminate, and hints do not count.",
		Source: []string{"KEP-1669", "discovery/v1.EndpointConditions.serving"},
	}
	nodeHints = &Clause{
		Name: "node-hints", Law: "I1", Force: Must,
		Text: "If every ready endpoint has hints for nodes and one of them is for this node, packets under policy Cluster go " +
			"only to endpoints with a hint for this node.",
		Source: []string{"KEP-3015", "v1.ServiceSpec.trafficDistribution", "discovery/v1.EndpointHints.forNodes"},
	}
	zoneHints = &Clause{
		Name: "zone-hints", Law: "I1", Force: Must,
		Text: "If every ready endpoint has hints for zones and one of them is for this node's zone, packets under policy " +
			"Cluster go only to endpoints with a hint for this zone.",
		Source: []string{"KEP-2433", "KEP-4444", "discovery/v1.EndpointHints.forZones"},
	}
	incompleteHints = &Clause{
		Name: "incomplete-hints", Law: "I1", Force: Must,
		Text: "Hints are ignored if a ready endpoint has none, if none is for this node, or if they are for zones and the node " +
			"has no zone.",
		Source: []string{"KEP-2433", "KEP-3015"},
	}
	localEndpoints = &Clause{
		Name: "local-endpoints", Law: "I1", Force: Must,
		Text: "Under a policy Local, packets go only to endpoints whose nodeName is this node, ready ones first, and hints do " +
			"not count.",
		Source: []string{"v1.ServiceSpec.internalTrafficPolicy", "v1.ServiceSpec.externalTrafficPolicy", "KEP-2086"},
	}
	equalChances = &Clause{
		Name: "equal-chances", Law: "I1", Force: Must,
		Text:   "Each usable endpoint has the same probability.",
		Source: []string{"v1.ServiceSpec.internalTrafficPolicy (\"evenly\")", "Kubernetes documentation: Virtual IPs and Service Proxies"},
	}
	slicesAreJoined = &Clause{
		Name: "slices-are-joined", Law: "I1", Force: Must,
		Text:   "A service has the endpoints of all of its slices together.",
		Source: []string{"discovery/v1.EndpointSlice", "KEP-752"},
	}
	countedOnce = &Clause{
		Name: "endpoint-counts-once", Law: "I1", Force: Must,
		Text:   "An endpoint that several slices have counts once.",
		Source: []string{"KEP-752"},
	}
	conflictingDuplicates = &Clause{
		Name: "conflicting-duplicates", Law: "I1", Force: Unspecified,
		Text:   "If slices contradict each other about an endpoint, the proxier may follow any of them.",
		Source: []string{"KEP-752"},
	}
	slicesOfOneFamily = &Clause{
		Name: "slices-of-one-family", Law: "I1", Force: Must,
		Text:   "Only slices of the same family as the called address count.",
		Source: []string{"discovery/v1.EndpointSlice.addressType"},
	}
	portNamesMatch = &Clause{
		Name: "port-names-match", Law: "I1", Force: Must,
		Text: "A port of a slice belongs to the service port with the same name and protocol. A missing name is the empty name, " +
			"and a port without a number has no endpoints.",
		Source: []string{"v1.ServicePort.name", "discovery/v1.EndpointPort.name"},
	}
	firstAddressOnly = &Clause{
		Name: "first-address-only", Law: "I1", Force: Must,
		Text:   "If an endpoint has several addresses, only the first counts.",
		Source: []string{"discovery/v1.Endpoint.addresses"},
	}
)

// What becomes of packets that no endpoint can take.
var (
	noEndpointRejects = &Clause{
		Name: "no-endpoint-rejects", Law: "I3", Force: Must,
		Text:   "A packet to a service without any usable endpoint is rejected, and the client receives the error.",
		Source: []string{"KEP-1669", "kubernetes#17359", "kubernetes#43212", "kubernetes#48719", "kubernetes#106030"},
	}
	internalLocalDrops = &Clause{
		Name: "internal-local-drops", Law: "I3", Force: Must,
		Text: "Under internalTrafficPolicy Local, a packet to a cluster IP is dropped if only other nodes have usable " +
			"endpoints.",
		Source: []string{"v1.ServiceSpec.internalTrafficPolicy", "KEP-2086"},
	}
	externalLocalDrops = &Clause{
		Name: "external-local-drops", Law: "I3", Force: Must,
		Text:   "Under externalTrafficPolicy Local, a packet from outside is dropped if only other nodes have usable endpoints.",
		Source: []string{"v1.ServiceSpec.externalTrafficPolicy"},
	}
	nodeToExternal = &Clause{
		Name: "node-to-external-without-endpoint", Law: "I3", Force: Unspecified,
		Text: "A packet that a node itself sends to an external IP or a load balancer's address without a usable endpoint may " +
			"be rejected, or may leave the node unchanged.",
		Source: []string{"kubernetes#48719"},
	}
)

// Which clients a service lets in.
var (
	sourceRanges = &Clause{
		Name: "source-ranges", Law: "I3", Force: Must,
		Text: "A service with loadBalancerSourceRanges drops packets to its load balancer's addresses from clients outside of " +
			"these ranges, including pods and nodes. Its other addresses and node ports are open.",
		Source: []string{"v1.ServiceSpec.loadBalancerSourceRanges", "kubernetes#33586", "kubernetes#109575"},
	}
	rangesOwnAddress = &Clause{
		Name: "source-ranges-own-address", Law: "I3", Force: Must,
		Text: "A node in one of the ranges is also admitted if it sends from the load balancer's address, as it does if it has " +
			"that address itself.",
		Source: []string{"kubernetes#109826"},
	}
	rangeOfEverything = &Clause{
		Name: "source-range-of-everything", Law: "I3", Force: Must,
		Text:   "A range of length zero admits every client of its family.",
		Source: []string{"v1.ServiceSpec.loadBalancerSourceRanges"},
	}
	rangesOfOtherFamily = &Clause{
		Name: "source-ranges-of-other-family", Law: "I3", Force: Must,
		Text:   "A list without a valid range of a family does not limit that family.",
		Source: []string{"KEP-563", "v1.ServiceSpec.loadBalancerSourceRanges"},
	}
	loopbackFromOutside = &Clause{
		Name: "loopback-from-outside", Law: "I9", Force: Must,
		Text: "No process of a node that listens on loopback receives packets from outside of the node, whatever addresses the " +
			"packets have.",
		Source: []string{"kubernetes#90259", "CVE-2020-8558"},
	}
)

// Which source an endpoint sees.
var (
	podSourceKept = &Clause{
		Name: "pod-source-kept", Law: "I4", Force: Must,
		Text:   "A pod that calls a cluster IP keeps its address.",
		Source: []string{"KubeProxyConfiguration.detectLocalMode", "Kubernetes documentation: Virtual IPs and Service Proxies"},
	}
	outsiderMasqueraded = &Clause{
		Name: "outsider-masqueraded", Law: "I4", Force: Must,
		Text: "A client of a cluster IP that is no pod according to the detector of local traffic is masqueraded, so that the " +
			"answer comes back through the node.",
		Source: []string{"KubeProxyConfiguration.clusterCIDR", "KubeProxyConfiguration.detectLocalMode"},
	}
	noDetector = &Clause{
		Name: "no-detector", Law: "I4", Force: Must,
		Text:   "Without a detector of local traffic, no client of a cluster IP is masqueraded.",
		Source: []string{"KubeProxyConfiguration.clusterCIDR"},
	}
	masqueradeAll = &Clause{
		Name: "masquerade-all", Law: "I4", Force: Must,
		Text:   "With masqueradeAll, every client of a cluster IP is masqueraded.",
		Source: []string{"KubeProxyConfiguration.iptables.masqueradeAll", "kubernetes#12843"},
	}
	externalMasqueraded = &Clause{
		Name: "external-masqueraded", Law: "I4", Force: Must,
		Text: "Under externalTrafficPolicy Cluster, every client of an external IP, a load balancer's address or a node port is " +
			"masqueraded.",
		Source: []string{"v1.ServiceSpec.externalTrafficPolicy", "Kubernetes documentation: Virtual IPs and Service Proxies"},
	}
	externalLocalKept = &Clause{
		Name: "external-local-kept", Law: "I4", Force: Must,
		Text:   "Under externalTrafficPolicy Local, a client from outside keeps its address.",
		Source: []string{"v1.ServiceSpec.externalTrafficPolicy"},
	}
	podShortCircuit = &Clause{
		Name: "pod-short-circuit", Law: "I4", Force: Must,
		Text: "A pod that calls an external address of a service of externalTrafficPolicy Local is served as at a cluster IP " +
			"under policy Cluster, and keeps its address.",
		Source: []string{"v1.ServiceSpec.externalTrafficPolicy (\"from within the cluster\")", "KEP-1669"},
	}
	nodeShortCircuit = &Clause{
		Name: "node-short-circuit", Law: "I4", Force: Must,
		Text: "A node that calls an external address of a service of externalTrafficPolicy Local is served by any usable " +
			"endpoint, masqueraded.",
		Source: []string{"v1.ServiceSpec.externalTrafficPolicy (\"from within the cluster\")"},
	}
	hairpin = &Clause{
		Name: "hairpin", Law: "I4", Force: Must,
		Text:   "A packet that goes back to the endpoint that sent it is masqueraded; otherwise the endpoint would answer itself.",
		Source: []string{"kubernetes#20475"},
	}
	ownProcess = &Clause{
		Name: "process-of-the-node", Law: "I4", Force: Unspecified,
		Text:   "If a packet ends at a process of the node that decides, its source may be kept or masqueraded.",
		Source: []string{"chainwalk"},
	}
	answerPastTheNode = &Clause{
		Name: "answer-past-the-node", Law: "I2", Force: Unspecified,
		Text: "If the source is kept and neither client nor endpoint is on the node that decided, the answer may bypass that " +
			"node and be lost. Examples: a pod calls another node's port under policy Local; a client outside calls a cluster " +
			"IP without a detector.",
		Source: []string{"v1.ServiceSpec.externalTrafficPolicy (\"may need to take traffic policy into account\")"},
	}
)
