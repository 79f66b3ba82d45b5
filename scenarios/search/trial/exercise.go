package trial

import (
	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// Exercising returns the clauses that would be broken if the proxier took the decision
// wrongly: what judges the mark. Each mark has some.
func Exercising(m mark.Mark) []*oracle.Clause {
	var clauses []*oracle.Clause
	for _, name := range exercising[m] {
		clauses = append(clauses, oracle.ByName(name))
	}
	return clauses
}

// exercising are the names of the clauses by mark.
var exercising = map[mark.Mark][]string{
	mark.ChangesServiceSkipped:           {"no-virtual-ip", "other-service-proxy", "headless-label"},
	mark.ChangesServiceOfOtherFamily:     {"one-family", "families-alike"},
	mark.ChangesServiceAdded:             {"cluster-ip-served", "partial-equals-full"},
	mark.ChangesServiceRemoved:           {"other-traffic-untouched", "partial-equals-full", "no-stale-chain"},
	mark.ChangesServicePortStays:         {"cost-by-change", "partial-equals-full"},
	mark.ChangesServiceAsApplied:         {"second-sync-writes-nothing", "order-does-not-matter"},
	mark.ChangesFormerUDP:                {"stale-udp-flow"},
	mark.ChangesVIPOfProxy:               {"load-balancer-proxy-untouched"},
	mark.ChangesSourceRangeOfAll:         {"source-range-of-everything"},
	mark.ChangesSourceRangeOfOtherFamily: {"source-ranges-of-other-family"},
	mark.ChangesPolicyWithoutMeaning:     {"field-of-another-type"},
	mark.ChangesSliceIgnored:             {"slices-of-one-family"},
	mark.ChangesSliceMoved:               {"slices-are-joined", "partial-equals-full"},
	mark.ChangesSliceSame:                {"second-sync-writes-nothing", "order-does-not-matter"},
	mark.ChangesSliceAsApplied:           {"second-sync-writes-nothing", "order-does-not-matter"},
	mark.ChangesSliceRemoved:             {"ready-endpoints", "no-endpoint-rejects", "partial-equals-full"},
	mark.ChangesEndpointTwiceTerminating: {"conflicting-duplicates", "endpoint-counts-once"},
	mark.ChangesEndpointTwice:            {"conflicting-duplicates", "endpoint-counts-once"},
	mark.ChangesEndpointsGone:            {"no-endpoint-rejects", "partial-equals-full"},
	mark.ChangesEndpointsStay:            {"cost-by-change", "second-sync-writes-nothing"},
	mark.ChangesUDPEndpoints:             {"stale-udp-flow"},
	mark.ModelClusterReady:               {"ready-endpoints", "equal-chances"},
	mark.ModelClusterDraining:            {"terminating-fallback"},
	mark.ModelClusterUnused:              {"local-endpoints", "no-stale-chain"},
	mark.ModelLocalReady:                 {"local-endpoints"},
	mark.ModelLocalDraining:              {"terminating-fallback", "local-endpoints"},
	mark.ModelHintsOfNode:                {"node-hints"},
	mark.ModelHintsOfZone:                {"zone-hints"},
	mark.ModelHintsIncomplete:            {"incomplete-hints"},
	mark.ModelHintsElsewhere:             {"zone-hints", "node-hints"},
	mark.ModelPoliciesDiffer:             {"local-endpoints", "zone-hints", "node-hints"},
	mark.ModelInternalReject:             {"no-endpoint-rejects"},
	mark.ModelInternalDrop:               {"internal-local-drops"},
	mark.ModelInternalLocal:              {"local-endpoints"},
	mark.ModelExternalReject:             {"no-endpoint-rejects"},
	mark.ModelExternalDrop:               {"external-local-drops"},
	mark.ModelExternalLocal:              {"local-endpoints", "external-local-kept"},
	mark.ModelFirewall:                   {"source-ranges"},
	mark.ModelFirewallOfNode:             {"source-ranges-own-address"},
	mark.ModelMasqueradeAll:              {"masquerade-all"},
	mark.ModelMasqueradeNotLocal:         {"outsider-masqueraded", "pod-source-kept"},
	mark.ModelMasqueradeNone:             {"no-detector"},
	mark.ModelNodePortsEverywhere:        {"node-port-served", "localhost-node-port"},
	mark.ModelNodePortsNotLoopback:       {"node-port-served", "localhost-node-port-off"},
	mark.ModelNodePortsChosen:            {"node-port-addresses"},
	mark.ModelNodePortsLeaveLoopback:     {"node-port-addresses", "localhost-node-port-off"},
	mark.RenderShortCircuitPods:          {"pod-short-circuit"},
	mark.RenderShortCircuitNode:          {"node-short-circuit"},
	mark.RenderAffinity:                  {"affinity-sticks", "affinity-ends"},
	mark.RenderShare:                     {"equal-chances"},
	mark.RenderOneEndpoint:               {"equal-chances", "ready-endpoints"},
	mark.RenderRefusedExternalIP:         {"no-endpoint-rejects", "external-local-drops"},
	mark.RenderRefusedNodePort:           {"no-endpoint-rejects", "external-local-drops"},
	mark.RenderHealthCheckPort:           {"health-check-port-open"},
	mark.RenderLoopbackGuard:             {"loopback-from-outside"},
	mark.RenderDropInvalid:               {"invalid-packet-dropped"},
	mark.RenderPassInvalid:               {"invalid-packet-dropped", "other-traffic-untouched"},
	mark.RenderLoopbackCounter:           {"localhost-node-port", "rules-read-back"},
	mark.RenderWithoutComments:           {"partial-equals-full", "names-do-not-matter"},
	mark.RenderFull:                      {"partial-equals-full", "restart-equals-fresh"},
	mark.RenderStaleDeleted:              {"no-stale-chain", "restart-equals-fresh"},
	mark.RenderStaleUnknown:              {"no-stale-chain", "heals-after-faults"},
	mark.RenderPortGone:                  {"partial-equals-full", "no-stale-chain"},
	mark.RenderNodePortsMoved:            {"node-port-addresses", "partial-equals-full"},
	mark.RenderSharedChain:               {"partial-equals-full", "cost-by-change"},
	mark.RenderOwnChainsOnly:             {"partial-equals-full", "cost-by-change"},
	mark.RenderEndpointHeld:              {"partial-equals-full", "cost-by-change"},
	mark.RenderEndpointRestyled:          {"partial-equals-full", "affinity-sticks"},
	mark.RenderUnusedDeleted:             {"no-stale-chain"},
	mark.RenderUnusedKept:                {"no-stale-chain"},
	mark.RenderUsedAgain:                 {"no-stale-chain", "partial-equals-full"},
	mark.RenderNothing:                   {"second-sync-writes-nothing"},
	mark.SyncNotDelivered:                {"restart-equals-fresh", "before-or-after"},
	mark.SyncFull:                        {"partial-equals-full", "restart-equals-fresh"},
	mark.SyncPartial:                     {"partial-equals-full", "cost-by-change"},
	mark.SyncHourly:                      {"heals-after-faults", "second-sync-writes-nothing"},
	mark.SyncZone:                        {"zone-hints", "partial-equals-full"},
	mark.SyncFailed:                      {"failed-restore-changes-nothing", "heals-after-faults", "health-tells-failure"},
	mark.SyncRestoreFailed:               {"failed-restore-changes-nothing", "heals-after-faults"},
	mark.SyncSaveFailed:                  {"heals-after-faults", "no-stale-chain"},
	mark.SyncCanaryGone:                  {"heals-after-faults"},
	mark.SyncJumpGone:                    {"heals-after-faults"},
	mark.SyncAddressesUnknown:            {"node-port-addresses", "heals-after-faults"},
	mark.SyncCounterMissing:              {"rules-read-back", "invalid-packet-dropped"},
	mark.SyncRouteLocalnet:               {"localhost-node-port", "loopback-from-outside"},
	mark.SyncDeleteUnused:                {"no-stale-chain"},
	mark.SyncHealthCheckGone:             {"health-check-agrees"},
	mark.SyncHealthCheck:                 {"health-check-agrees"},
	mark.ConntrackNothing:                {"live-connection-survives"},
	mark.ConntrackSearch:                 {"stale-udp-flow"},
	mark.ConntrackNone:                   {"live-connection-survives"},
	mark.ConntrackDeleted:                {"stale-udp-flow"},
	mark.ConntrackFailed:                 {"stale-udp-flow", "heals-after-faults"},
	mark.ConntrackInterrupted:            {"stale-udp-flow", "heals-after-faults"},
	mark.ConntrackFormerAddress:          {"stale-udp-flow"},
	mark.ConntrackServing:                {"live-connection-survives"},
	mark.ConntrackNotServing:             {"stale-udp-flow"},
	mark.ConntrackNodePort:               {"stale-udp-flow"},
	mark.ConntrackForeignNodePort:        {"udp-flow-of-no-service", "live-connection-survives"},
	mark.ConntrackSharedAddress:          {"same-address-conflict", "live-connection-survives"},
}

// UnreachedInNFTables says of the marks and clauses that are reached in mode iptables alone why they are not in mode nftables.
func UnreachedInNFTables() map[string]string {
	return map[string]string{
		mark.RenderUnusedKept.String(): "chains that are out of use wait for an hour in large clusters of mode iptables",
		mark.SyncCanaryGone.String():   "mode nftables has no canary",
		"dropped-by-policy":            "clause firewall-decides says so in mode nftables",
		"passes-forward-policy":        "mode nftables accepts nothing for a firewall",
	}
}

// Unreached says of the marks that no case of the generator reaches why none does.
func Unreached() map[mark.Mark]string {
	return map[mark.Mark]string{
		mark.ChangesPolicyWithoutMeaning: "an API server refuses such a service",
		mark.SyncNotDelivered:            "a simulated node syncs once it was told everything",
		mark.SyncAddressesUnknown:        "a simulated node knows its addresses",
		mark.SyncCounterMissing:          "a simulated kernel makes accounting objects",
		mark.ConntrackInterrupted:        "the table of a simulated node holds still",
	}
}
