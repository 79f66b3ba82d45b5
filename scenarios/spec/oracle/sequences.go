package oracle

// The clauses of sequences, which a judge of them names itself.
var (
	PartialEqualsFull = &Clause{
		Name: "partial-equals-full", Law: "I6", Force: Must,
		Text: "After a sync packets meet what they would meet if a proxier that never knew anything else had written all " +
			"rules for the objects that are there now.",
		Source: []string{"kubernetes#121362", "KEP-3453"},
	}
	RestartEqualsFresh = &Clause{
		Name: "restart-equals-fresh", Law: "I6", Force: Must,
		Text: "A proxier that starts over rules that are there already, its own or another version's, comes to the same " +
			"as on an empty kernel.",
		Source: []string{"kubernetes#92035", "kubernetes#47589"},
	}
	OrderDoesNotMatter = &Clause{
		Name: "order-does-not-matter", Law: "I6", Force: Must,
		Text: "In which order the API's events of different kinds come, whether twice, late or several at once, makes no " +
			"difference to what holds in the end.",
		Source: []string{"Kubernetes API concepts: efficient detection of changes"},
	}
	NoStaleChain = &Clause{
		Name: "no-stale-chain", Law: "I6", Force: Must,
		Text:   "No packet can come to a chain of what is no more, and after the sync period no such chain is left.",
		Source: []string{"kubernetes#110334"},
	}
	SecondSyncWritesNothing = &Clause{
		Name: "second-sync-writes-nothing", Law: "I12", Force: Must,
		Text:   "A sync after which nothing has changed writes no rules, and a full one leaves the rules as they are.",
		Source: []string{"kubernetes#34006", "kubernetes#82361"},
	}
	CostByChange = &Clause{
		Name: "cost-by-change", Law: "I12", Force: Must,
		Text: "What a sync writes is bounded by what has changed and not by how many services there are, and it looks through " +
			"conntrack only if a service that speaks UDP has changed.",
		Source: []string{"KEP-3453", "kubernetes#135323"},
	}
	SyncWhenDue = &Clause{
		Name: "sync-when-due", Law: "I12", Force: Must,
		Text:   "A proxier that is told of something by which packets are to go elsewhere says that a sync is due.",
		Source: []string{"KubeProxyIPTablesConfiguration.minSyncPeriod"},
	}
	NoSyncForNothing = &Clause{
		Name: "no-sync-for-nothing", Law: "I12", Force: Must,
		Text:   "A proxier that is told again of what it knows, with other words that are for others and with ports in another order, does not say that a sync is due.",
		Source: []string{"kubernetes#34006", "chainwalk"},
	}
	WalkBounded = &Clause{
		Name: "walk-bounded", Law: "I12", Force: Must,
		Text: "A first packet that is for a node itself and for no service is held against a number of rules that grows with the addresses " +
			"and ports by which services can be called there, and not with services without endpoints that only have cluster IPs.",
		Source: []string{"kubernetes#95252", "kubernetes#56164", "kubernetes#74394"},
	}
	FailedRestoreChangesNothing = &Clause{
		Name: "failed-restore-changes-nothing", Law: "I7", Force: Must,
		Text:   "As long as restores fail, packets meet what they met before the first failure, or a named window.",
		Source: []string{"kubernetes#24357", "kubernetes#112604"},
	}
	HealsAfterFaults = &Clause{
		Name: "heals-after-faults", Law: "I7", Force: Must,
		Text: "Once faults have stopped, the next sync that succeeds makes everything hold again, whatever failed, was " +
			"flushed or was half applied before.",
		Source: []string{"kubernetes#81517", "kubernetes#112604", "kubernetes#121362"},
	}
	HealthTellsFailure = &Clause{
		Name: "health-tells-failure", Law: "I7", Force: Must,
		Text:   "A proxier that has changes to write, and whose syncs fail for longer than twice its sync period, answers /healthz with an error.",
		Source: []string{"kubernetes#105742"},
	}
	RulesReadBack = &Clause{
		Name: "rules-read-back", Law: "I11", Force: Must,
		Text:   "The tools accept the rules, and read them back as they were written.",
		Source: []string{"kubernetes#112477", "kubernetes#114537"},
	}
	ToolsAlike = &Clause{
		Name: "tools-alike", Law: "I11", Force: Must,
		Text:   "With iptables-legacy and iptables-nft packets meet the same.",
		Source: []string{"kubernetes#71305"},
	}
	FamiliesAlike = &Clause{
		Name: "families-alike", Law: "I6", Force: Must,
		Text:   "A cluster and its mirror in the other address family behave alike, but for localhost.",
		Source: []string{"KEP-563"},
	}
	NamesDoNotMatter = &Clause{
		Name: "names-do-not-matter", Law: "I6", Force: Must,
		Text:   "Other names of services, ports, namespaces, nodes and slices make no difference.",
		Source: []string{"Kubernetes API concepts: object names and IDs"},
	}
	HealthCheckAgrees = &Clause{
		Name: "health-check-agrees", Law: "I1", Force: Must,
		Text: "The health check node port of a service counts the ready endpoints of its node, " +
			"as the rules have them, and is served only under type LoadBalancer and externalTrafficPolicy Local.",
		Source: []string{"v1.ServiceSpec.healthCheckNodePort", "kubernetes#99299", "KEP-1669"},
	}
	NeverPanics = &Clause{
		Name: "never-panics", Law: "I7", Force: Must,
		Text:   "Whatever the API says and the tools answer, a proxier goes on.",
		Source: []string{"Kubernetes API conventions: objects may be changed by anybody"},
	}
)
