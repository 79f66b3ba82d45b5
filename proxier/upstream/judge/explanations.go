package judge

import (
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
)

// explanations are the explanations for all versions.
func explanations() []Explanation {
	return []Explanation{
		{
			Name:   "contested",
			Case:   "contested.yaml",
			Chance: true,
			Why: "Two services claim the same address, protocol and port. The one whose rule comes first gets the packets; " +
				"kube-proxy writes them in the order of a Go map, which is another one in each sync. Ours are sorted by name. So " +
				"is which of them decides about UDP connections to the address; ours keeps those to the endpoints of both.",
			holds: func(r *run, d *Difference, all []*Difference) bool {
				if d.Kind == "conntrack" {
					claimed, _ := r.served(d.entry.Original.Dst, d.family)
					return claimed > 1
				}
				if d.Kind == "rules" {
					return r.settings.Mode == cases.NFTables && contestedParts(r.objects, d.family, d)
				}
				return d.contested && !slices.ContainsFunc(all, func(other *Difference) bool {
					return other.Kind == "rules" && !r.oldTools(other) && !contestedParts(r.objects, d.family, other) &&
						!r.explainedNatively(other, d.family, all)
				})
			},
		},
		{
			Name: "no-local-unreachable",
			Case: "no-local-unreachable.yaml",
			Why: "sync_proxy_rules_no_local_endpoints_total counts, in kube-proxy, also service ports with externalTrafficPolicy " +
				"Local that nobody can reach from outside (a load balancer without an address and without node ports), even if " +
				"they have local endpoints. Ours counts those whose traffic is dropped.",
			holds: func(r *run, d *Difference, _ []*Difference) bool {
				return d.Kind == "metrics" && r.countsUnreachable(d)
			},
		},
		{
			Name:  "no-hourly-full-sync",
			Case:  "no-hourly-full-sync.yaml",
			since: 36,
			Why: "Where the last sync was one of a large cluster, kube-proxy makes no full sync after an hour; ours does, unless " +
				"Config.NoHourlyFullSync is set. The chains of services that have not changed get their comments, or lose them, " +
				"then.",
			restoring: true,
			holds: func(r *run, d *Difference, _ []*Difference) bool {
				return !r.settings.NoHourlyFullSync && r.history.large[d.family] && r.history.hours > 0 && d.onlyComments
			},
		},
		{
			Name: "unchanged-in-large-cluster",
			Case: "unchanged-in-large-cluster.yaml",
			Why: "When a cluster becomes a large one, or stops being one, the chains that a partial sync writes get the new style, " +
				"without comments or with them. kube-proxy writes the chains of every service of which an object was touched; " +
				"ours those that differ.",
			restoring: true,
			holds:     func(r *run, d *Difference, _ []*Difference) bool { return r.history.large[d.family] && d.onlyComments },
		},
		{
			Name:   "which-duplicate",
			Case:   "which-duplicate.yaml",
			until:  35,
			Chance: true,
			Why: "A service has two endpoints with the same address. Of those kube-proxy takes the first, unless another one is on " +
				"this node; between slices it is the order of a Go map. Ours takes the last that does not terminate, and so does " +
				"kube-proxy since v1.36.",
			holds: func(r *run, d *Difference, all []*Difference) bool {
				_, duplicates := correct(r.objects, d.family)
				return duplicates && !isCountOfEvents(d.where) && r.freshAgrees(all, 1)
			},
		},
		{
			// Before those that rest on a kube-proxy that starts now, which chance decides too.
			Name:   "undefined-duplicate",
			Case:   "undefined-duplicate.yaml",
			since:  36,
			Chance: true,
			Why: "Two EndpointSlices of a service hold the same address with other conditions. Which one counts is the order of a " +
				"Go map in kube-proxy, and its own comment calls it undefined. In ours the slices have the order of their names.",
			holds: func(r *run, d *Difference, all []*Difference) bool {
				return !isCountOfEvents(d.where) && ambiguousDuplicates(r.objects) && r.freshAgrees(all, freshTries)
			},
		},
		{
			Name:  "slices-of-other-proxies",
			Case:  "slices-of-other-proxies.yaml",
			since: 36,
			Why: "An EndpointSlice with the label service.kubernetes.io/service-proxy-name is not for kube-proxy, says KEP-2447. " +
				"Since v1.36 kube-proxy looks at that label of services only: it counts the changes of such a slice, and serves " +
				"its endpoints if its service is served. Ours leaves it alone.",
			holds: func(r *run, d *Difference, all []*Difference) bool {
				if strings.Contains(d.where, "endpoint_changes_total") {
					return r.history.countsForeign(d)
				}
				return !isCountOfEvents(d.where) && slices.ContainsFunc(r.objects.SortedSlices(), peers.OfAnotherProxy) && r.freshAgrees(all, 1)
			},
		},
		{
			Name: "slice-relabelled",
			Case: "slice-relabelled.yaml",
			Why: "When the label of an EndpointSlice is changed to another service, or is taken away, kube-proxy adds the " +
				"endpoints to the new service and never takes them from the old one. Ours moves them.",
			holds: func(r *run, d *Difference, all []*Difference) bool {
				return !isCountOfEvents(d.where) && r.history.relabelled && r.freshAgrees(all, 1)
			},
		},
		{
			Name:  "old-tools",
			Case:  "old-tools.yaml",
			since: 37,
			Why: "kube-proxy does not ask the tools for their version any more, and has MASQUERADE take --random-fully. Ours " +
				"leaves that out where the tools do not know it (before 1.6.2), which would refuse every restore.",
			restoring: true,
			holds:     func(r *run, d *Difference, _ []*Difference) bool { return r.oldTools(d) },
		},
		{
			Name:  "flows-without-endpoints",
			Case:  "flows-without-endpoints.yaml",
			until: 36,
			Why: "kube-proxy leaves out the UDP services that have no serving endpoint when it looks for stale connections " +
				"(kubernetes#139628): a client that goes on sending stays with an endpoint that is no more. Ours deletes them.",
			holds: func(r *run, d *Difference, _ []*Difference) bool { return r.keepsIdle(d) },
		},
		{
			Name:  "flows-of-node-port-without-endpoints",
			Case:  "flows-of-node-port-without-endpoints.yaml",
			since: 37,
			Why: "kube-proxy knows connections to node ports by the number of the port alone, so it leaves out those of UDP " +
				"services without a serving endpoint when it looks for stale ones. Ours knows the addresses of the node, and " +
				"deletes them.",
			holds: func(r *run, d *Difference, _ []*Difference) bool {
				return r.keepsIdle(d) && isNodeAddress(d.entry.Original.Dst.Addr())
			},
		},
		{
			Name:  "flows-to-no-endpoint",
			Case:  "flows-to-no-endpoint.yaml",
			since: 37,
			Why: "kube-proxy looks for stale connections after each event of a UDP service's EndpointSlice, also one that changes " +
				"nothing, and deletes what was sent untranslated to a service without a serving endpoint. Ours looks after " +
				"changes. What is sent to such a service is refused, so it leaves no connection behind that anybody could find.",
			holds: func(r *run, d *Difference, _ []*Difference) bool {
				claimed, serving := r.served(d.entry.Original.Dst, d.family)
				idle := claimed > 0 && !serving && d.entry.Reply.Src == d.entry.Original.Dst
				return d.onlyTheirsDeletes() && !r.ours.Flows().Looked(d.family) && idle
			},
		},
		{
			Name: "flows-of-deleted-service",
			Case: "flows-of-deleted-service.yaml",
			Why: "kube-proxy looks for stale connections among those to services that are there. A client that goes on sending to " +
				"one that is gone stays with its endpoint. Ours deletes them.",
			holds: func(r *run, d *Difference, _ []*Difference) bool {
				claimed, _ := r.served(d.entry.Original.Dst, d.family)
				return d.onlyOursDeletes() && r.theirs.Flows().Looked(d.family) && claimed == 0
			},
		},
		{
			Name: "flows-not-looked-at",
			Case: "flows-not-looked-at.yaml",
			Why: "kube-proxy looks for stale connections only in a sync that takes a change of the endpoints of a UDP service. If " +
				"the service itself changes, or that sync fails, nobody looks. Ours looks after both, and again after a failure.",
			holds: func(r *run, d *Difference, _ []*Difference) bool {
				return d.onlyOursDeletes() && !r.theirs.Flows().Looked(d.family)
			},
		},
		{
			Name: "flows-of-other-machines",
			Case: "flows-of-other-machines.yaml",
			Why: "kube-proxy takes every connection to the number of a node port for one to its own, also to the port of another " +
				"machine. Ours looks at the address.",
			holds: func(_ *run, d *Difference, _ []*Difference) bool {
				return d.onlyTheirsDeletes() && d.entry.Original.Dst.Addr() == foreignMachine[d.family]
			},
		},
	}
}
