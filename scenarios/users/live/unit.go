package live

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance/hashed"
)

// units sort the rules that differ from kube-proxy's by what one repair fixes: rules for one service, rules of one chain that services
// share, or, where a node has many of both, all of kube-proxy's rules on that node.
type units struct {
	services map[string]string // by the chain of a service port or an endpoint
	asked    map[string]bool   // the chains of them that the objects ask for
	whole    map[string]unit   // nodes on which all have one reason
}

// unit is what one repair fixes.
type unit struct {
	key string
	// service is the service that the rules are for, chain the chain "TABLE CHAIN" that all are in; both are empty of all rules of a node.
	service, chain string
	none           bool   // the node has no rules of kube-proxy
	of             string // no such rules " for IPv4", while it has others
}

// manyUnits is from how many services and chains on a node its rules have one reason: kube-proxy does not do its work there.
const manyUnits = 6

// unitsOf sorts the rules of all nodes that differ from kube-proxy's.
func (e *exam) unitsOf() units {
	u := units{services: e.cluster.chainOwners(), asked: map[string]bool{}, whole: map[string]unit{}}
	for chain := range u.services {
		u.asked[chain] = true
	}
	for _, d := range e.rules {
		u.learn(d.foreign)
	}
	for node, d := range e.rules {
		seen := map[string]bool{}
		for i := range d.missing {
			seen[u.of(&d.missing[i]).key] = true
		}
		for i := range d.foreign {
			if one := u.of(&d.foreign[i]); one.service != "" {
				seen[one.key] = true
			}
		}
		if lacks, of := e.lacksProxyRules(node); lacks {
			u.whole[node] = unit{key: "none" + of, none: true, of: of}
		} else if len(seen) >= manyUnits {
			u.whole[node] = unit{key: "many"}
		}
	}
	return u
}

// learn takes from the comments of rules which chains are for services that are no more.
func (u *units) learn(rules []factRule) {
	for i := range rules {
		service := rules[i].service()
		for _, chain := range []string{rules[i].Chain, rules[i].fact.Jump} {
			if service != "" && u.services[chain] == "" && provenance.IsOfServicePort(chain) {
				u.services[chain] = service
			}
		}
	}
}

// lacksProxyRules says whether a node has no rules of kube-proxy, and of what family if it has those of the other one. In mode nftables
// each family has a table of its own, which goes as a whole.
func (e *exam) lacksProxyRules(node string) (lacks bool, of string) {
	if !e.hasProxyRules(node) {
		return true, ""
	}
	if e.proxies[node].Mode != provenance.ModeNFTables {
		return false, ""
	}
	for _, family := range netfilter.Families() {
		_, native := nativeTable(e.lab.Network.Host(node).Host, family)
		if native == nil && e.serves(family) {
			return true, fmt.Sprintf(" for IPv%d", family)
		}
	}
	return false, ""
}

// serves says whether nodes have addresses of a family.
func (e *premises) serves(family netfilter.Family) bool {
	return slices.ContainsFunc(e.topology.Nodes[0].Addresses, func(a netip.Addr) bool { return inet.FamilyOf(a) == family })
}

// hasProxyRules says whether a node has the chain in which packets come to kube-proxy's rules.
func (e *exam) hasProxyRules(node string) bool {
	for _, family := range netfilter.Families() {
		host := e.lab.Network.Host(node).Host
		_, native := nativeTable(host, family)
		if slices.ContainsFunc(native, func(c packetsim.NativeChain) bool { return provenance.BeginsServices(c.Name) && len(c.Rules) > 0 }) {
			return true
		}
		rules := host.Rulesets(family)[0]
		for _, table := range rules.Tables {
			for chain := range table.Unsorted() {
				if provenance.BeginsServices(chain.Name) && chain.Len() > 0 {
					return true
				}
			}
		}
	}
	return false
}

// of is the unit of a rule.
func (u *units) of(r *factRule) unit {
	service := u.service(r)
	if whole, ok := u.whole[r.Node]; ok && (r.missing || service != "") {
		return whole
	}
	if service != "" {
		return unit{key: "service " + service, service: service}
	}
	key := keyOf(r.tableName(), r.Chain)
	return unit{key: "chain " + key, chain: key}
}

// service is the service that a rule of kube-proxy is for, by its chain, the one that it leads to or its comment; empty if it is for none.
func (u *units) service(r *factRule) string {
	for _, chain := range []string{r.Chain, r.fact.Jump} {
		if service := u.services[chain]; service != "" {
			return service
		}
	}
	if service := r.service(); service != "" {
		return service
	}
	for _, chain := range []string{r.Chain, r.fact.Jump} {
		if provenance.IsOfServicePort(chain) {
			return chain // of a service that is no more
		}
	}
	return ""
}

// chainOwners are the services by the chains that kube-proxy makes for their ports and endpoints.
func (c *Cluster) chainOwners() map[string]string {
	out := map[string]string{}
	for _, s := range c.services() {
		for i := range s.Spec.Ports {
			p := &s.Spec.Ports[i]
			port := provenance.PortOf(s.Namespace, s.Name, p.Name)
			for _, chain := range hashed.ServiceChains(port, strings.ToLower(string(p.Protocol))) {
				out[chain] = port.Service()
			}
		}
	}
	for _, slice := range c.slices() {
		for _, p := range slice.Ports {
			if p.Port == nil || p.Name == nil || p.Protocol == nil {
				continue
			}
			port := provenance.PortOf(slice.Namespace, slice.Labels[discoveryv1.LabelServiceName], *p.Name)
			for i := range slice.Endpoints {
				for _, text := range slice.Endpoints[i].Addresses {
					if a, ok := parse(text); ok {
						out[hashed.EndpointChain(port, strings.ToLower(string(*p.Protocol)), at(a, uint16(*p.Port)))] = port.Service()
					}
				}
			}
		}
	}
	return out
}

// sorted are the keys of a set, in order.
func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
