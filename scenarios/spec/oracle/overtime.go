package oracle

// The clauses of connections over time.
var (
	liveConnectionSurvives = &Clause{
		Name: "live-connection-survives", Law: "I2", Force: Must,
		Text: "A connection that was made goes on to the same endpoint, as long as that is one of the service's and " +
			"serves, or terminates gracefully; " +
			"what changes for others does not touch it.",
		Source: []string{"KEP-1669", "Kubernetes documentation: Virtual IPs and Service Proxies"},
	}
	repliesComeBack = &Clause{
		Name: "replies-come-back", Law: "I2", Force: Must,
		Text:   "A client hears from the address and port that it called, and from nobody else.",
		Source: []string{"kubernetes#74839", "Kubernetes documentation: Virtual IPs and Service Proxies"},
	}
	StaleUDPFlow = &Clause{
		Name: "stale-udp-flow", Law: "I8", Force: Must,
		Text: "After the sync that knows that a UDP flow's endpoint no longer serves, that there is one where there was none, " +
			"or that what it calls is no service's any more, the next datagram of the same source port meets what a first packet would.",
		Source: []string{"kubernetes#19029", "kubernetes#42473", "kubernetes#48370", "kubernetes#112604", "kubernetes#139628"},
	}
	affinitySticks = &Clause{
		Name: "affinity-sticks", Law: "I10", Force: Must,
		Text: "A client that was sent to an endpoint is sent there again by the same node and service port within the " +
			"timeout, as long as the endpoint is usable.",
		Source: []string{"v1.ServiceSpec.sessionAffinity", "kubernetes#35677", "kubernetes#13299"},
	}
	affinityEnds = &Clause{
		Name: "affinity-ends", Law: "I10", Force: Must,
		Text:   "After the timeout without a connection, or once the endpoint is not usable, a client is sent to any endpoint.",
		Source: []string{"v1.ClientIPConfig.timeoutSeconds", "kubernetes#106030"},
	}
	invalidPacketDropped = &Clause{
		Name: "invalid-packet-dropped", Law: "I2", Force: Must,
		Text: "A packet that conntrack cannot place in a connection that was translated is not passed on untranslated, " +
			"unless conntrack is told to be liberal.",
		Source: []string{"kubernetes#74839", "kubernetes#94861", "kubernetes#120412"},
	}
	staleEntryOfNoService = &Clause{
		Name: "udp-flow-of-no-service", Law: "I8", Force: Unspecified,
		Text: "A UDP flow to a place that ceased to be a service's while the proxier was not running may go on as it did, or be treated " +
			"as a first packet.",
		Source: []string{"kubernetes#126130"},
	}
	flowOfUnchosenEndpoint = &Clause{
		Name: "flow-of-unchosen-endpoint", Law: "I2", Force: Unspecified,
		Text: "A flow to an endpoint that serves, and that a first packet would not reach now (by policy, hints or readiness), may go on " +
			"or be treated as a first packet.",
		Source: []string{"KEP-1669", "kubernetes#126130"},
	}
	translatedForGood = &Clause{
		Name: "translated-for-good", Law: "I2", Force: May,
		Text: "A TCP or SCTP connection keeps its endpoint for as long as it lasts, though that is none of the service's any more; " +
			"what becomes of it then is between client and endpoint.",
		Source: []string{"Kubernetes documentation: Virtual IPs and Service Proxies", "KEP-1669"},
	}
	affinityForgotten = &Clause{
		Name: "affinity-forgotten", Law: "I10", Force: Unspecified,
		Text: "If the endpoint was not usable in between, if the rules were gone, or at the very second of the timeout, " +
			"a client may be sent to the same endpoint or to another one.",
		Source: []string{"v1.ClientIPConfig.timeoutSeconds", "kubernetes#13299"},
	}
	invalidPacketToNode = &Clause{
		Name: "invalid-packet-to-node", Law: "I2", Force: Unspecified,
		Text:   "A packet that conntrack takes for invalid may come to a node that is itself client or endpoint, as it was sent.",
		Source: []string{"kubernetes#117924"},
	}
)

// The clauses of what happens while a sync writes.
var (
	Transition = &Clause{
		Name: "before-or-after", Law: "I6", Force: Must,
		Text:   "While a sync is under way, packets meet what they met before it, what they will meet after it, or a window that is named here.",
		Source: []string{"kubernetes#99299", "chainwalk"},
	}
	tablesApart = &Clause{
		Name: "tables-apart", Law: "I6", Force: May,
		Text: "Tables are committed one after the other. A packet that was not translated before may still not be in between: it passes, or is " +
			"dropped as what is not translated is under externalTrafficPolicy Local, source ranges and policies of others. Where the mark for " +
			"masquerade becomes another one, a FORWARD chain of policy DROP may not know it in between.",
		Source: []string{"iptables-restore(8)"},
	}
	staleUntilCleanup = &Clause{
		Name: "stale-until-cleanup", Law: "I8", Force: May,
		Text: "A UDP flow may go to an endpoint that is gone until the sync that knows of it is done: no longer after the first sync " +
			"that succeeds. While syncs fail it may last, and as long as the API has the endpoint.",
		Source: []string{"kubernetes#112604", "kubernetes#139628"},
	}
)
