package oracle

// The clauses of sequences, which a judge of them names itself.
var (
	PartialEqualsFull = &Clause{
		Name: "partial-equals-full", Law: "I6", Force: Must,
		Text:   "After a sync, packets meet what they would meet if a new proxier had written all rules for the current objects.",
		Source: []string{"kubernetes#121362", "KEP-3453"},
	}
	RestartEqualsFresh = &Clause{
		Name: "restart-equals-fresh", Law: "I6", Force: Must,
		Text: "A proxier that starts with existing rules, its own or those of another version, reaches the same state as on an " +
			"empty kernel.",
		Source: []string{"kubernetes#92035", "kubernetes#47589"},
	}
	OrderDoesNotMatter = &Clause{
		Name: "order-does-not-matter", Law: "I6", Force: Must,
		Text: "The final state does not depend on the order of the API's events of different kinds, or on whether they come " +
			"twice, late or several at once.",
		Source: []string{"Kubernetes API concepts: efficient detection of changes"},
	}
	NoStaleChain = &Clause{
		Name: "no-stale-chain", Law: "I6", Force: Must,
		Text: "No packet can reach a chain of an object that is gone, and after the sync period no such chain is left. In mode nftables a " +
			"service port may have a chain that no packet reaches if all of its external addresses are also those of others.",
		Source: []string{"kubernetes#110334"},
	}
	SecondSyncWritesNothing = &Clause{
		Name: "second-sync-writes-nothing", Law: "I12", Force: Must,
		Text: "If nothing has changed since the last sync, a sync writes no rules, and a full sync leaves the rules as they " +
			"are.",
		Source: []string{"kubernetes#34006", "kubernetes#82361"},
	}
	CostByChange = &Clause{
		Name: "cost-by-change", Law: "I12", Force: Must,
		Text: "A sync writes an amount that depends on what has changed and not on the number of services, and it searches " +
			"conntrack only if a UDP service has changed.",
		Source: []string{"KEP-3453", "kubernetes#135323"},
	}
	SyncWhenDue = &Clause{
		Name: "sync-when-due", Law: "I12", Force: Must,
		Text:   "If a change means that packets must go elsewhere, the proxier says that a sync is due.",
		Source: []string{"KubeProxyIPTablesConfiguration.minSyncPeriod"},
	}
	NoSyncForNothing = &Clause{
		Name: "no-sync-for-nothing", Law: "I12", Force: Must,
		Text: "If a proxier receives an object again, and only fields that it does not read or the order of ports have changed, it " +
			"does not say that a sync is due.",
		Source: []string{"kubernetes#34006", "chainwalk"},
	}
	WalkBounded = &Clause{
		Name: "walk-bounded", Law: "I12", Force: Must,
		Text: "A first packet for a node itself and for no service is compared with a number of rules that grows with the " +
			"addresses and ports by which services can be called there, and not with services without endpoints that only " +
			"have cluster IPs.",
		Source: []string{"kubernetes#95252", "kubernetes#56164", "kubernetes#74394"},
	}
	FailedRestoreChangesNothing = &Clause{
		Name: "failed-restore-changes-nothing", Law: "I7", Force: Must,
		Text:   "As long as restores fail, packets meet the state before the first failure, or a named window.",
		Source: []string{"kubernetes#24357", "kubernetes#112604"},
	}
	HealsAfterFaults = &Clause{
		Name: "heals-after-faults", Law: "I7", Force: Must,
		Text: "Once faults have stopped, the next sync that succeeds restores everything, whatever failed, was flushed or was " +
			"half applied before.",
		Source: []string{"kubernetes#81517", "kubernetes#112604", "kubernetes#121362"},
	}
	HealthTellsFailure = &Clause{
		Name: "health-tells-failure", Law: "I7", Force: Must,
		Text: "If a proxier has changes to write and its syncs fail for longer than twice its sync period, it answers /healthz " +
			"with an error.",
		Source: []string{"kubernetes#105742"},
	}
	RulesReadBack = &Clause{
		Name: "rules-read-back", Law: "I11", Force: Must,
		Text:   "The tools accept the rules, and read them back as they were written.",
		Source: []string{"kubernetes#112477", "kubernetes#114537"},
	}
	ToolsAlike = &Clause{
		Name: "tools-alike", Law: "I11", Force: Must,
		Text:   "Packets have the same fate with iptables-legacy and with iptables-nft.",
		Source: []string{"kubernetes#71305"},
	}
	FamiliesAlike = &Clause{
		Name: "families-alike", Law: "I6", Force: Must,
		Text:   "A cluster and its mirror in the other address family behave alike, except for localhost.",
		Source: []string{"KEP-563"},
	}
	NamesDoNotMatter = &Clause{
		Name: "names-do-not-matter", Law: "I6", Force: Must,
		Text:   "Different names of services, ports, namespaces, nodes and slices make no difference.",
		Source: []string{"Kubernetes API concepts: object names and IDs"},
	}
	HealthCheckAgrees = &Clause{
		Name: "health-check-agrees", Law: "I1", Force: Must,
		Text: "The health check node port of a service counts the ready endpoints of its node, in agreement with the rules, and " +
			"is served only under type LoadBalancer and externalTrafficPolicy Local.",
		Source: []string{"v1.ServiceSpec.healthCheckNodePort", "kubernetes#99299", "KEP-1669"},
	}
	NeverPanics = &Clause{
		Name: "never-panics", Law: "I7", Force: Must,
		Text:   "A proxier keeps running, whatever the API says and the tools answer.",
		Source: []string{"Kubernetes API conventions: objects may be changed by anybody"},
	}
)
