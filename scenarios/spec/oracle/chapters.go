package oracle

// chapter is a part of the specification.
type chapter struct {
	Title   string
	Clauses []*Clause
}

// Chapters are the parts of the specification.
func Chapters() []chapter {
	return []chapter{
		{Title: "Where a service is served", Clauses: []*Clause{
			clusterIPServed, externalIPServed, balancerServed, proxyModeBalancer, nodePortServed, nodePortAddresses, unservedNodePort,
			nodePortRangesOfOtherFamily, localhostNodePort, localhostNodePortOff, otherLoopbackNodePort, healthPortOpen, pingUntouched,
			otherTraffic, noVirtualIP, otherProxy, headlessLabel, otherFamily, oddSpelling, staleField, sameAddressConflict,
			endpointIsDestination, unknownClient, droppedByPolicy, passesForward, filteredByOthers,
		}},
		{Title: "Which endpoints", Clauses: []*Clause{
			readyEndpoints, terminatingFallback, nodeHints, zoneHints, incompleteHints, localEndpoints, equalChances, slicesAreJoined,
			countedOnce, conflictingDuplicates, slicesOfOneFamily, portNamesMatch, firstAddressOnly,
		}},
		{Title: "Without an endpoint", Clauses: []*Clause{
			noEndpointRejects, internalLocalDrops, externalLocalDrops, nodeToExternal,
		}},
		{Title: "Who may come in", Clauses: []*Clause{
			sourceRanges, rangesOwnAddress, rangeOfEverything, rangesOfOtherFamily, loopbackFromOutside,
		}},
		{Title: "Who the endpoint sees", Clauses: []*Clause{
			podSourceKept, outsiderMasqueraded, noDetector, masqueradeAll, externalMasqueraded, externalLocalKept, podShortCircuit,
			nodeShortCircuit, hairpin, ownProcess, answerPastTheNode,
		}},
		{Title: "Connections over time", Clauses: []*Clause{
			repliesComeBack, liveConnectionSurvives, StaleUDPFlow, staleEntryOfNoService, flowOfUnchosenEndpoint, translatedForGood,
			affinitySticks, affinityEnds, affinityForgotten, invalidPacketDropped, invalidPacketToNode, strayPasses,
			strayDropped,
		}},
		{Title: "What mode nftables does otherwise", Clauses: []*Clause{
			nodePortAtPrimary, nodePortNotAtLoopback, unusedPortRejected, unassignedIPDropped, firewallDecides, invalidPacketPasses,
			pingOfClusterIP, hairpinElsewhere, loopbackRouted, affinityOfOtherMode,
		}},
		{Title: "Within a sync", Clauses: []*Clause{
			Transition, tablesApart, routedBehindGuard, staleUntilCleanup,
		}},
		{Title: "Sequences", Clauses: []*Clause{
			PartialEqualsFull, RestartEqualsFresh, OrderDoesNotMatter, NoStaleChain, SecondSyncWritesNothing, CostByChange, SyncWhenDue,
			NoSyncForNothing,
			WalkBounded, FailedRestoreChangesNothing, HealsAfterFaults, HealthTellsFailure, RulesReadBack, ToolsAlike, FamiliesAlike,
			NamesDoNotMatter, HealthCheckAgrees, NeverPanics,
		}},
	}
}
