package oracle

// The clauses of connections over time.
var (
	liveConnectionSurvives = &Clause{
		Name: "live-connection-survives", Law: "I2", Force: Must,
		Text: "An established connection keeps its endpoint as long as that endpoint belongs to the service and serves, or " +
			"terminates gracefully. Changes of other endpoints do not affect it.",
		Source: []string{"KEP-1669", "Kubernetes documentation: Virtual IPs and Service Proxies"},
	}
	repliesComeBack = &Clause{
		Name: "replies-come-back", Law: "I2", Force: Must,
		Text:   "A client gets replies from the address and port that it called, and from no other.",
		Source: []string{"kubernetes#74839", "Kubernetes documentation: Virtual IPs and Service Proxies"},
	}
	StaleUDPFlow = &Clause{
		Name: "stale-udp-flow", Law: "I8", Force: Must,
		Text: "After the sync that learns that the endpoint of a UDP flow no longer serves, that there is an endpoint where " +
			"there was none, or that the called address no longer belongs to a service, the next datagram from the same " +
			"source port is treated as a first packet.",
		Source: []string{"kubernetes#19029", "kubernetes#42473", "kubernetes#48370", "kubernetes#112604", "kubernetes#139628"},
	}
	affinitySticks = &Clause{
		Name: "affinity-sticks", Law: "I10", Force: Must,
		Text: "A client that was sent to an endpoint is sent there again by the same node and service port within the timeout, " +
			"as long as the endpoint is usable.",
		Source: []string{"v1.ServiceSpec.sessionAffinity", "kubernetes#35677", "kubernetes#13299"},
	}
	affinityEnds = &Clause{
		Name: "affinity-ends", Law: "I10", Force: Must,
		Text: "After the timeout without a connection, or once the endpoint is not usable, a client may be sent to any " +
			"endpoint.",
		Source: []string{"v1.ClientIPConfig.timeoutSeconds", "kubernetes#106030"},
	}
	invalidPacketDropped = &Clause{
		Name: "invalid-packet-dropped", Law: "I2", Force: Must,
		Text: "In mode iptables a packet that conntrack cannot assign to a translated connection is not passed on untranslated, unless " +
			"conntrack is set to be liberal.",
		Source: []string{"kubernetes#74839", "kubernetes#94861", "kubernetes#120412"},
	}
	staleEntryOfNoService = &Clause{
		Name: "udp-flow-of-no-service", Law: "I8", Force: Unspecified,
		Text: "A UDP flow to an address that ceased to belong to a service while the proxier was not running may continue, or " +
			"be treated as a first packet.",
		Source: []string{"kubernetes#126130"},
	}
	flowOfUnchosenEndpoint = &Clause{
		Name: "flow-of-unchosen-endpoint", Law: "I2", Force: Unspecified,
		Text: "A flow to an endpoint that serves, but that a first packet would not reach now (because of policy, hints or " +
			"readiness), may continue or be treated as a first packet.",
		Source: []string{"KEP-1669", "kubernetes#126130"},
	}
	translatedForGood = &Clause{
		Name: "translated-for-good", Law: "I2", Force: May,
		Text: "A TCP or SCTP connection keeps its endpoint for as long as it lasts, even if the endpoint no longer belongs to " +
			"the service. Only client and endpoint end it.",
		Source: []string{"Kubernetes documentation: Virtual IPs and Service Proxies", "KEP-1669"},
	}
	affinityForgotten = &Clause{
		Name: "affinity-forgotten", Law: "I10", Force: Unspecified,
		Text: "If the endpoint was not usable in between, if the rules were gone, or in the very second of the timeout, a " +
			"client may be sent to the same endpoint or to another one.",
		Source: []string{"v1.ClientIPConfig.timeoutSeconds", "kubernetes#13299"},
	}
	invalidPacketToNode = &Clause{
		Name: "invalid-packet-to-node", Law: "I2", Force: Unspecified,
		Text:   "If a node is itself client or endpoint, a packet that conntrack considers invalid may reach it as it was sent.",
		Source: []string{"kubernetes#117924"},
	}
)

// The clauses of what happens while a sync writes.
var (
	Transition = &Clause{
		Name: "before-or-after", Law: "I6", Force: Must,
		Text:   "During a sync, packets meet the state before it, the state after it, or a window that is named here.",
		Source: []string{"kubernetes#99299", "chainwalk"},
	}
	tablesApart = &Clause{
		Name: "tables-apart", Law: "I6", Force: May,
		Text: "In mode iptables tables are committed one after the other. In between, a packet that was not translated before may still not be " +
			"translated: it passes, or is dropped like untranslated packets under externalTrafficPolicy Local, source ranges " +
			"and foreign policies. If the mark for masquerading changes, a FORWARD chain of policy DROP may not know the new " +
			"mark in between. Mode nftables changes all rules of a family at once.",
		Source: []string{"iptables-restore(8)", "nft(8)"},
	}
	routedBehindGuard = &Clause{
		Name: "localhost-routed-last", Law: "I6", Force: May,
		Text: "A node that begins to serve node ports at 127.0.0.1 writes its rules first, and sets route_localnet when the rules stand that " +
			"guard loopback addresses. In between, packets to such a node port may be translated and lost.",
		Source: []string{"CVE-2020-8558", "Documentation/networking/ip-sysctl.rst: route_localnet"},
	}
	staleUntilCleanup = &Clause{
		Name: "stale-until-cleanup", Law: "I8", Force: May,
		Text: "A UDP flow may go to an endpoint that is gone until the sync that knows of it is done, and no longer than the " +
			"first sync that succeeds. It may last while syncs fail, and as long as the API has the endpoint.",
		Source: []string{"kubernetes#112604", "kubernetes#139628"},
	}
)
