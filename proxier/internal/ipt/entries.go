package ipt

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// appendVIPEntries lead the service port's addresses to its chains.
func (t *serviceText) appendVIPEntries(dst []byte) []byte {
	port := t.service.Port
	if t.service.Internal.Handling == model.Route {
		dst = t.appendVIPEntry(dst, port.ClusterIP, " cluster IP", t.internalPrefix())
	}
	if !t.service.EntersExternal {
		return dst
	}
	for _, ip := range port.ExternalIPs {
		dst = t.appendVIPEntry(dst, ip, " external IP", externalPrefix)
	}
	for _, ip := range port.LoadBalancerVIPs {
		dst = t.appendVIPEntry(dst, ip, " loadbalancer IP", t.lbTarget())
	}
	return dst
}

func (t *serviceText) appendVIPEntry(dst []byte, ip netip.Addr, comment, target string) []byte {
	dst = append(dst, "-A "+servicesChain...)
	dst = t.appendComment(dst, "", comment)
	dst = t.appendDestination(dst, ip, t.service.Port.Port)
	return t.appendJump(dst, target)
}

// appendNodePortEntry leads the node port to its chain, by a rule of its own for
// loopback addresses if that traffic is counted.
func (t *serviceText) appendNodePortEntry(dst []byte) []byte {
	if !t.service.EntersExternal || t.service.Port.NodePort == 0 {
		return dst
	}
	if t.model.Localhost && t.options.LocalhostCounter != "" {
		t.options.Marks.Hit(mark.RenderLoopbackCounter)
		dst = t.appendNodePortHead(dst)
		dst = append(dst, " -d 127.0.0.0/8"...)
		dst = appendPort(dst, t.service.Port.NodePort)
		dst = append(dst, " -m nfacct --nfacct-name "...)
		dst = append(dst, t.options.LocalhostCounter...)
		dst = t.appendJump(dst, externalPrefix)
	}
	dst = t.appendNodePortHead(dst)
	dst = appendPort(dst, t.service.Port.NodePort)
	return t.appendJump(dst, externalPrefix)
}

func (t *serviceText) appendNodePortHead(dst []byte) []byte {
	dst = append(dst, "-A "+nodePortsChain+" -m comment --comment "...)
	dst = append(dst, t.name...)
	return t.appendProtocol(dst)
}
