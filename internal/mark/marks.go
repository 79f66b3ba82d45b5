package mark

// The marks, by the package that takes the decision. Their Meaning says what each is.
const (
	ChangesServiceSkipped Mark = iota
	ChangesServiceOfOtherFamily
	ChangesServiceAdded
	ChangesServiceRemoved
	ChangesServicePortStays
	ChangesServiceAsApplied
	ChangesFormerUDP
	ChangesVIPOfProxy
	ChangesSourceRangeOfAll
	ChangesSourceRangeOfOtherFamily
	ChangesPolicyWithoutMeaning
	ChangesSliceIgnored
	ChangesSliceMoved
	ChangesSliceSame
	ChangesSliceAsApplied
	ChangesSliceRemoved
	ChangesEndpointTwiceTerminating
	ChangesEndpointTwice
	ChangesEndpointsGone
	ChangesEndpointsStay
	ChangesUDPEndpoints

	ModelClusterReady
	ModelClusterDraining
	ModelClusterUnused
	ModelLocalReady
	ModelLocalDraining
	ModelHintsOfNode
	ModelHintsOfZone
	ModelHintsIncomplete
	ModelHintsElsewhere
	ModelPoliciesDiffer
	ModelInternalReject
	ModelInternalDrop
	ModelInternalLocal
	ModelExternalReject
	ModelExternalDrop
	ModelExternalLocal
	ModelFirewall
	ModelFirewallOfNode
	ModelMasqueradeAll
	ModelMasqueradeNotLocal
	ModelMasqueradeNone
	ModelNodePortsEverywhere
	ModelNodePortsNotLoopback
	ModelNodePortsChosen
	ModelNodePortsLeaveLoopback

	RenderShortCircuitPods
	RenderShortCircuitNode
	RenderAffinity
	RenderShare
	RenderOneEndpoint
	RenderRefusedExternalIP
	RenderRefusedNodePort
	RenderHealthCheckPort
	RenderLoopbackGuard
	RenderDropInvalid
	RenderPassInvalid
	RenderLoopbackCounter
	RenderWithoutComments
	RenderFull
	RenderStaleDeleted
	RenderStaleUnknown
	RenderPortGone
	RenderNodePortsMoved
	RenderSharedChain
	RenderOwnChainsOnly
	RenderEndpointHeld
	RenderEndpointRestyled
	RenderUnusedDeleted
	RenderUnusedKept
	RenderUsedAgain
	RenderNothing

	SyncNotDelivered
	SyncFull
	SyncPartial
	SyncHourly
	SyncZone
	SyncFailed
	SyncRestoreFailed
	SyncSaveFailed
	SyncCanaryGone
	SyncJumpGone
	SyncAddressesUnknown
	SyncCounterMissing
	SyncRouteLocalnet
	SyncDeleteUnused
	SyncHealthCheckGone
	SyncHealthCheck

	ConntrackNothing
	ConntrackSearch
	ConntrackNone
	ConntrackDeleted
	ConntrackFailed
	ConntrackInterrupted
	ConntrackFormerAddress
	ConntrackServing
	ConntrackNotServing
	ConntrackNodePort
	ConntrackForeignNodePort
	ConntrackSharedAddress

	marks int = iota
)

// texts are the names and the meanings of the marks.
var texts = [marks]struct{ name, meaning string }{
	ChangesServiceSkipped: {"changes/service-skipped",
		"a Service that this proxier does not serve: headless, ExternalName, another proxy's"},
	ChangesServiceOfOtherFamily:     {"changes/service-of-other-family", "a Service without a cluster IP of the family"},
	ChangesServiceAdded:             {"changes/service-added", "a service port that was not there, or is another one now"},
	ChangesServiceRemoved:           {"changes/service-removed", "a service port goes, or is another one now"},
	ChangesServicePortStays:         {"changes/service-port-stays", "a Service changes but one of its ports does not"},
	ChangesServiceAsApplied:         {"changes/service-as-applied", "a Service is again as the last sync took it, and need not wait"},
	ChangesFormerUDP:                {"changes/former-udp", "a UDP service port whose old address may still be in conntrack"},
	ChangesVIPOfProxy:               {"changes/vip-of-proxy", "a load balancer address with ipMode Proxy gets no rules"},
	ChangesSourceRangeOfAll:         {"changes/source-range-of-all", "a source range of length zero: every client may use the load balancer"},
	ChangesSourceRangeOfOtherFamily: {"changes/source-range-of-other-family", "a source range of the other family"},
	ChangesPolicyWithoutMeaning: {"changes/policy-without-meaning",
		"externalTrafficPolicy Local of a Service that nothing outside can reach"},
	ChangesSliceIgnored:   {"changes/slice-ignored", "a slice of no Service, or of the other family"},
	ChangesSliceMoved:     {"changes/slice-moved", "a slice that belonged to another Service"},
	ChangesSliceSame:      {"changes/slice-same", "a slice that says what it said before"},
	ChangesSliceAsApplied: {"changes/slice-as-applied", "a slice is again as the last sync took it, and need not wait"},
	ChangesSliceRemoved:   {"changes/slice-removed", "a slice goes"},
	ChangesEndpointTwiceTerminating: {"changes/endpoint-twice-terminating",
		"two slices hold an address, and the later one is terminating: it does not count"},
	ChangesEndpointTwice: {"changes/endpoint-twice", "two slices hold an address: the later one counts"},
	ChangesEndpointsGone: {"changes/endpoints-gone", "a service port has lost its last endpoint"},
	ChangesEndpointsStay: {"changes/endpoints-stay", "slices change but the endpoints of a service port do not"},
	ChangesUDPEndpoints:  {"changes/udp-endpoints", "the endpoints of a UDP port are other ones now"},
	ModelClusterReady:    {"model/cluster-ready", "policy Cluster uses all ready endpoints"},
	ModelClusterDraining: {"model/cluster-draining",
		"policy Cluster has no ready endpoint, and uses those that terminate but serve"},
	ModelClusterUnused: {"model/cluster-unused", "a service port that never uses policy Cluster"},
	ModelLocalReady:    {"model/local-ready", "policy Local uses the ready endpoints of this node"},
	ModelLocalDraining: {"model/local-draining",
		"policy Local has no ready endpoint here, and uses those that terminate but serve"},
	ModelHintsOfNode:     {"model/hints-of-node", "node hints leave endpoints to this node"},
	ModelHintsOfZone:     {"model/hints-of-zone", "zone hints leave endpoints to this node's zone"},
	ModelHintsIncomplete: {"model/hints-incomplete", "a ready endpoint has no hint while another has: hints do not count"},
	ModelHintsElsewhere: {"model/hints-elsewhere",
		"every ready endpoint has a hint, but none is for this node or its zone: hints do not count"},
	ModelPoliciesDiffer: {"model/policies-differ", "an endpoint that policy Local uses and policy Cluster does not"},
	ModelInternalReject: {"model/internal-reject", "the cluster IP has no endpoint on any node"},
	ModelInternalDrop: {"model/internal-drop",
		"the cluster IP has endpoints, but none on this node under internalTrafficPolicy Local"},
	ModelInternalLocal:  {"model/internal-local", "internalTrafficPolicy Local with an endpoint on this node"},
	ModelExternalReject: {"model/external-reject", "external destinations have no endpoint on any node"},
	ModelExternalDrop: {"model/external-drop",
		"external destinations have endpoints, but none on this node under externalTrafficPolicy Local"},
	ModelExternalLocal:          {"model/external-local", "externalTrafficPolicy Local with an endpoint on this node"},
	ModelFirewall:               {"model/firewall", "load balancer addresses that only some sources may use"},
	ModelFirewallOfNode:         {"model/firewall-of-node", "the node may use the load balancer address, so that address may be a source"},
	ModelMasqueradeAll:          {"model/masquerade-all", "all traffic to cluster IPs is masqueraded"},
	ModelMasqueradeNotLocal:     {"model/masquerade-not-local", "traffic to cluster IPs that is not of this node's pods is masqueraded"},
	ModelMasqueradeNone:         {"model/masquerade-none", "pods are not recognised: traffic to cluster IPs keeps its source"},
	ModelNodePortsEverywhere:    {"model/node-ports-everywhere", "node ports at every address, loopback too"},
	ModelNodePortsNotLoopback:   {"model/node-ports-not-loopback", "node ports at every address but loopback"},
	ModelNodePortsChosen:        {"model/node-ports-chosen", "node ports at the addresses in the ranges that were asked for"},
	ModelNodePortsLeaveLoopback: {"model/node-ports-leave-loopback", "a loopback address is left out of the ranges for node ports"},
	RenderShortCircuitPods: {"render/short-circuit-pods",
		"pods that call an external destination under policy Local are routed by policy Cluster"},
	RenderShortCircuitNode: {"render/short-circuit-node",
		"pods are not recognised: only the node itself is routed by policy Cluster"},
	RenderAffinity:          {"render/affinity", "clients stick to endpoints"},
	RenderShare:             {"render/share", "more than one endpoint: each by chance"},
	RenderOneEndpoint:       {"render/one-endpoint", "one endpoint: no chance"},
	RenderRefusedExternalIP: {"render/refused-external-ip", "an external IP or a load balancer address is refused"},
	RenderRefusedNodePort:   {"render/refused-node-port", "a node port is refused"},
	RenderHealthCheckPort:   {"render/health-check-port", "load balancers may ask for the node's health"},
	RenderLoopbackGuard:     {"render/loopback-guard", "loopback addresses are routed, and others are kept away from them"},
	RenderDropInvalid:       {"render/drop-invalid", "packets that conntrack finds invalid are dropped"},
	RenderPassInvalid: {"render/pass-invalid",
		"the kernel takes segments outside of the window for valid ones: none is dropped"},
	RenderLoopbackCounter:    {"render/loopback-counter", "node ports at loopback addresses are counted"},
	RenderWithoutComments:    {"render/without-comments", "a large cluster: rules of endpoints go without comments"},
	RenderFull:               {"render/full", "everything is written"},
	RenderStaleDeleted:       {"render/stale-deleted", "chains that were in the kernel before are not in use, and go"},
	RenderStaleUnknown:       {"render/stale-unknown", "what the kernel holds is not known: chains out of use are remembered"},
	RenderPortGone:           {"render/port-gone", "a service port goes, and its lines and chains with it"},
	RenderNodePortsMoved:     {"render/node-ports-moved", "node ports are served at other addresses now"},
	RenderSharedChain:        {"render/shared-chain", "a chain that all services share is written again"},
	RenderOwnChainsOnly:      {"render/own-chains-only", "only a service port's own chains are written again"},
	RenderEndpointHeld:       {"render/endpoint-held", "the chain of an endpoint is there already"},
	RenderEndpointRestyled:   {"render/endpoint-restyled", "the chains of endpoints are written again, in another style"},
	RenderUnusedDeleted:      {"render/unused-deleted", "chains out of use go"},
	RenderUnusedKept:         {"render/unused-kept", "chains out of use wait, in a large cluster"},
	RenderUsedAgain:          {"render/used-again", "a chain that was out of use is in use again"},
	RenderNothing:            {"render/nothing", "the kernel holds what it must: nothing is written"},
	SyncNotDelivered:         {"sync/not-delivered", "the first objects were not delivered yet"},
	SyncFull:                 {"sync/full", "a sync writes everything"},
	SyncPartial:              {"sync/partial", "a sync writes what has changed"},
	SyncHourly:               {"sync/hourly", "everything is written since the last time is an hour ago"},
	SyncZone:                 {"sync/zone", "the node is in another zone"},
	SyncFailed:               {"sync/failed", "the rules could not be written"},
	SyncRestoreFailed:        {"sync/restore-failed", "iptables-restore has failed"},
	SyncSaveFailed:           {"sync/save-failed", "iptables-save has failed: stale chains stay"},
	SyncCanaryGone:           {"sync/canary-gone", "somebody has flushed a table"},
	SyncJumpGone:             {"sync/jump-gone", "a jump to the rules is gone"},
	SyncAddressesUnknown:     {"sync/addresses-unknown", "the node's addresses could not be read: node ports have no rules"},
	SyncCounterMissing:       {"sync/counter-missing", "an accounting object could not be made: no rule refers to it"},
	SyncRouteLocalnet:        {"sync/route-localnet", "the kernel is told to route loopback addresses"},
	SyncDeleteUnused:         {"sync/delete-unused", "chains have been out of use for the sync period"},
	SyncHealthCheckGone:      {"sync/health-check-gone", "a Service that changed has no health check"},
	SyncHealthCheck:          {"sync/health-check", "a Service that changed has a health check"},
	ConntrackNothing:         {"conntrack/nothing", "no UDP service or endpoint has changed"},
	ConntrackSearch:          {"conntrack/search", "conntrack is searched for stale entries"},
	ConntrackNone:            {"conntrack/none", "the search finds no stale entry"},
	ConntrackDeleted:         {"conntrack/deleted", "stale entries are deleted"},
	ConntrackFailed:          {"conntrack/failed", "the search or a deletion has failed, and is left for the next sync"},
	ConntrackInterrupted:     {"conntrack/interrupted", "the table changed while it was listed: listed again"},
	ConntrackFormerAddress:   {"conntrack/former-address", "an address that a UDP service port had before"},
	ConntrackServing:         {"conntrack/serving", "an entry that leads to a serving endpoint stays"},
	ConntrackNotServing:      {"conntrack/not-serving", "an endpoint that does not serve: entries that lead to it are stale"},
	ConntrackNodePort:        {"conntrack/node-port", "an entry to a node port"},
	ConntrackForeignNodePort: {"conntrack/foreign-node-port", "an entry to the same port of another machine stays"},
	ConntrackSharedAddress:   {"conntrack/shared-address", "two service ports at one address: the endpoints of both serve"},
}
