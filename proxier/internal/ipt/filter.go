package ipt

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// appendRefusedClusterIP refuses what comes to the cluster IP and was not
// routed in table nat.
func (t *serviceText) appendRefusedClusterIP(dst []byte) []byte {
	port, verdict := t.service.Port, t.service.Internal.Handling
	if verdict == model.Route {
		return dst
	}
	dst = t.appendRefusal(dst, servicesChain, verdict)
	return append(t.appendDestination(dst, port.ClusterIP, port.Port), refusalTarget(verdict)...)
}

// appendHealthCheck lets load balancers ask for the node's health.
func (t *serviceText) appendHealthCheck(dst []byte) []byte {
	port := t.service.Port
	if port.HealthCheckNodePort == 0 {
		return dst
	}
	t.options.Marks.Hit(mark.RenderHealthCheckPort)
	dst = append(dst, "-A "+nodePortsChain...)
	dst = t.appendComment(dst, "", " health check node port")
	dst = append(dst, " -m tcp -p tcp"...)
	dst = appendPort(dst, port.HealthCheckNodePort)
	return append(dst, " -j ACCEPT\n"...)
}

// appendExternalRefusals refuses what comes to external destinations and was
// not routed in table nat.
func (t *serviceText) appendExternalRefusals(dst []byte) []byte {
	port, verdict := t.service.Port, t.service.External.Handling
	if verdict == model.Route {
		return dst
	}
	for _, vips := range [...][]netip.Addr{port.ExternalIPs, port.LoadBalancerVIPs} {
		for _, ip := range vips {
			t.options.Marks.Hit(mark.RenderRefusedExternalIP)
			dst = t.appendRefusal(dst, externalServicesChain, verdict)
			dst = append(t.appendDestination(dst, ip, port.Port), refusalTarget(verdict)...)
		}
	}
	if port.NodePort != 0 {
		t.options.Marks.Hit(mark.RenderRefusedNodePort)
		dst = t.appendRefusal(dst, externalServicesChain, verdict)
		dst = append(dst, " -m addrtype --dst-type LOCAL"...)
		dst = appendPort(t.appendProtocol(dst), port.NodePort)
		dst = append(dst, refusalTarget(verdict)...)
	}
	return dst
}

// appendRefusal begins a rule that rejects or drops.
func (t *serviceText) appendRefusal(dst []byte, chain string, verdict model.Handling) []byte {
	comment := " has no endpoints"
	if verdict == model.Drop {
		comment = " has no local endpoints"
	}
	dst = append(append(dst, "-A "...), chain...)
	return t.appendComment(dst, "", comment)
}

func refusalTarget(verdict model.Handling) string {
	if verdict == model.Drop {
		return " -j DROP\n"
	}
	return " -j REJECT\n"
}

// appendFirewallDrops drops what got through the firewall chain untranslated.
func (t *serviceText) appendFirewallDrops(dst []byte) []byte {
	if t.service.Firewall == nil {
		return dst
	}
	for _, ip := range t.service.Port.LoadBalancerVIPs {
		dst = append(dst, "-A "+proxyFirewallChain+` -m comment --comment "`...)
		dst = append(dst, t.name...)
		dst = append(dst, " traffic not accepted by "+lbPrefix...)
		dst = append(dst, t.hash[:]...)
		dst = append(dst, '"')
		dst = t.appendDestination(dst, ip, t.service.Port.Port)
		dst = append(dst, " -j DROP\n"...)
	}
	return dst
}
