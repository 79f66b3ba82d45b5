package ipt

import (
	"strconv"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/internal/changes"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// appendChainLines declares the chains that belong to the service port alone.
func (t *serviceText) appendChainLines(dst []byte) []byte {
	dst = t.appendPolicyChainLines(dst)
	for i := range t.endpoints {
		dst = appendHashedChainLine(dst, endpointPrefix, t.endpoints[i].hash)
	}
	return dst
}

func (t *serviceText) appendPolicyChainLines(dst []byte) []byte {
	policiesOf(t.service).prefixes(func(prefix string) { dst = appendHashedChainLine(dst, prefix, t.hash) })
	return dst
}

// appendChains fills in the chains that appendChainLines declares. They need
// not be written again while the service port's decisions stay the same.
func (t *serviceText) appendChains(dst []byte) []byte {
	dst = t.appendPolicyChains(dst)
	for i := range t.endpoints {
		dst = t.appendEndpointChain(dst, &t.endpoints[i])
	}
	return dst
}

// appendPolicyChains fills in all but the endpoints' chains.
func (t *serviceText) appendPolicyChains(dst []byte) []byte {
	dst = t.appendClusterIPMasquerade(dst)
	if t.service.EntersExternal {
		dst = t.appendExternalChain(dst)
	}
	if t.service.Firewall != nil {
		dst = t.appendFirewallChain(dst)
	}
	dst = t.appendPolicyChain(dst, clusterPrefix, t.service.Endpoints.Cluster)
	return t.appendPolicyChain(dst, localPrefix, t.service.Endpoints.Local)
}

// appendClusterIPMasquerade writes the first rule of the chain that serves the
// cluster IP.
func (t *serviceText) appendClusterIPMasquerade(dst []byte) []byte {
	if t.service.Internal.Handling != model.Route || t.model.ClusterIPs == model.MasqueradeNone {
		return dst
	}
	dst = appendRule(dst, t.internalPrefix(), t.hash)
	dst = t.appendComment(dst, "", " cluster IP")
	dst = t.appendDestination(dst, t.service.Port.ClusterIP, t.service.Port.Port)
	if t.model.ClusterIPs == model.MasqueradeNotLocal {
		dst = appendLocalTraffic(append(dst, " !"...), t.model.LocalTraffic)
	}
	return append(dst, " -j "+markMasqChain+"\n"...)
}

// appendExternalChain writes the chain for all external destinations.
func (t *serviceText) appendExternalChain(dst []byte) []byte {
	if t.service.External.Local {
		dst = t.appendShortCircuit(dst)
	} else {
		dst = t.appendExternalRule(dst, "masquerade traffic for ")
		dst = append(dst, " -j "+markMasqChain+"\n"...)
	}
	if t.service.External.Handling == model.Route {
		dst = appendRule(dst, externalPrefix, t.hash)
		target := clusterPrefix
		if t.service.External.Local {
			target = localPrefix
		}
		dst = t.appendJump(dst, target)
	}
	return dst
}

// appendShortCircuit routes pods and the node itself by policy Cluster, as if
// their traffic had gone to the load balancer and come back.
func (t *serviceText) appendShortCircuit(dst []byte) []byte {
	if t.model.LocalTraffic.Known() {
		t.options.Marks.Hit(mark.RenderShortCircuitPods)
		dst = t.appendExternalRule(dst, "pod traffic for ")
		dst = appendLocalTraffic(dst, t.model.LocalTraffic)
		dst = t.appendJump(dst, clusterPrefix)
	} else {
		t.options.Marks.Hit(mark.RenderShortCircuitNode)
	}
	dst = t.appendExternalRule(dst, "masquerade LOCAL traffic for ")
	dst = append(dst, " -m addrtype --src-type LOCAL -j "+markMasqChain+"\n"...)
	dst = t.appendExternalRule(dst, "route LOCAL traffic for ")
	dst = append(dst, " -m addrtype --src-type LOCAL"...)
	return t.appendJump(dst, clusterPrefix)
}

func (t *serviceText) appendExternalRule(dst []byte, comment string) []byte {
	return t.appendComment(appendRule(dst, externalPrefix, t.hash), comment, " external destinations")
}

// appendFirewallChain writes the chain that lets the allowed sources pass. Its
// last rule does nothing: what gets there is not translated, and so is dropped
// in table filter.
func (t *serviceText) appendFirewallChain(dst []byte) []byte {
	for _, source := range t.service.Firewall.Sources {
		dst = t.appendFirewallSource(dst)
		dst = source.AppendTo(dst)
		dst = t.appendJump(dst, externalPrefix)
	}
	for _, vip := range t.service.Firewall.VIPs {
		dst = t.appendFirewallSource(dst)
		dst = vip.AppendTo(dst)
		dst = t.appendJump(dst, externalPrefix)
	}
	dst = appendRule(dst, lbPrefix, t.hash)
	dst = t.appendComment(dst, "other traffic to ", " will be dropped by "+proxyFirewallChain)
	return append(dst, '\n')
}

func (t *serviceText) appendFirewallSource(dst []byte) []byte {
	dst = appendRule(dst, lbPrefix, t.hash)
	dst = t.appendComment(dst, "", " loadbalancer IP")
	return append(dst, " -s "...)
}

// appendPolicyChain writes the chain that spreads traffic over the endpoints
// of one policy: first the clients that stick to one, then the rest by chance.
func (t *serviceText) appendPolicyChain(dst []byte, prefix string, set []changes.Endpoint) []byte {
	if len(set) == 0 {
		return dst
	}
	t.options.Marks.HitIf(mark.RenderShare, len(set) > 1)
	t.options.Marks.HitIf(mark.RenderOneEndpoint, len(set) == 1)
	if t.service.Port.SessionAffinityClientIP {
		t.options.Marks.Hit(mark.RenderAffinity)
		t.eachOf(set, func(_ int, endpoint *endpointText) {
			dst = t.appendEndpointRule(dst, prefix, endpoint)
			dst = append(dst, " -m recent --name "+endpointPrefix...)
			dst = append(dst, endpoint.hash[:]...)
			dst = append(dst, " --rcheck --seconds "...)
			dst = strconv.AppendInt(dst, int64(t.service.Port.StickyMaxAgeSeconds), 10)
			dst = append(dst, " --reap"...)
			dst = appendEndpointJump(dst, endpoint)
		})
	}
	t.eachOf(set, func(i int, endpoint *endpointText) {
		dst = t.appendEndpointRule(dst, prefix, endpoint)
		if left := len(set) - i; left > 1 {
			dst = append(dst, " -m statistic --mode random --probability "...)
			dst = append(dst, t.probabilities.of(left)...)
		}
		dst = appendEndpointJump(dst, endpoint)
	})
	return dst
}

func (t *serviceText) appendEndpointRule(dst []byte, prefix string, endpoint *endpointText) []byte {
	dst = appendRule(dst, prefix, t.hash)
	if !t.commented {
		return dst
	}
	dst = append(dst, ` -m comment --comment "`...)
	dst = append(dst, t.name...)
	dst = append(dst, " -> "...)
	dst = appendAddrPort(dst, endpoint.IP, endpoint.Port)
	return append(dst, '"')
}

// appendEndpointChain writes the chain that translates to one endpoint. An
// endpoint that reaches itself through the service must see another source,
// or its reply would not come back through the translation.
func (t *serviceText) appendEndpointChain(dst []byte, endpoint *endpointText) []byte {
	dst = t.appendEndpointHead(dst, endpoint)
	dst = append(dst, " -s "...)
	dst = endpoint.IP.AppendTo(dst)
	dst = append(dst, " -j "+markMasqChain+"\n"...)
	dst = t.appendEndpointHead(dst, endpoint)
	if t.service.Port.SessionAffinityClientIP {
		dst = append(dst, " -m recent --name "+endpointPrefix...)
		dst = append(dst, endpoint.hash[:]...)
		dst = append(dst, " --set"...)
	}
	dst = t.appendProtocol(dst)
	dst = append(dst, " -j DNAT --to-destination "...)
	dst = appendAddrPort(dst, endpoint.IP, endpoint.Port)
	return append(dst, '\n')
}

func (t *serviceText) appendEndpointHead(dst []byte, endpoint *endpointText) []byte {
	dst = appendRule(dst, endpointPrefix, endpoint.hash)
	if !t.commented {
		return dst
	}
	dst = append(dst, " -m comment --comment "...)
	return append(dst, t.name...)
}
