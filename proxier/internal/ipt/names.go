package ipt

import (
	"bytes"
	"net/netip"

	"github.com/chainwalk/chainwalk/proxier/chains"
	"github.com/chainwalk/chainwalk/proxier/chains/chainhash"
	"github.com/chainwalk/chainwalk/proxier/internal/changes"
)

// Chains that all services share. Some names are used in both tables.
const (
	servicesChain         = "KUBE-SERVICES"
	externalServicesChain = "KUBE-EXTERNAL-SERVICES"
	nodePortsChain        = "KUBE-NODEPORTS"
	postroutingChain      = "KUBE-POSTROUTING"
	markMasqChain         = "KUBE-MARK-MASQ"
	forwardChain          = "KUBE-FORWARD"
	proxyFirewallChain    = "KUBE-PROXY-FIREWALL"
	// firewallChain is the kubelet's. Both programs fill it in alike.
	firewallChain = "KUBE-FIREWALL"
)

// canaryChain is empty and never jumped to. If it disappears, somebody has
// flushed the tables.
const canaryChain = "KUBE-PROXY-CANARY"

// Prefixes of the chains of one service port.
const (
	clusterPrefix  = chains.ClusterPrefix
	localPrefix    = chains.LocalPrefix
	externalPrefix = chains.ExternalPrefix
	lbPrefix       = chains.FirewallPrefix
	endpointPrefix = chains.EndpointPrefix
)

// hashText ends the name of a chain.
type hashText = chainhash.Hash

// appendHashKey appends what the names of a service port's chains are made of.
func appendHashKey(dst []byte, name *changes.ServicePortName) []byte {
	return append(appendName(dst, name), changes.LowerProtocol(name.Protocol)...)
}

// appendName appends "namespace/name:port" like changes.ServicePortName.String,
// without making a string.
func appendName(dst []byte, name *changes.ServicePortName) []byte {
	dst = append(dst, name.Namespace...)
	dst = append(dst, '/')
	dst = append(dst, name.Name...)
	if name.Port != "" {
		dst = append(dst, ':')
		dst = append(dst, name.Port...)
	}
	return dst
}

// appendAddrPort appends "ip:port", with the address of IPv6 in brackets.
func appendAddrPort(dst []byte, ip netip.Addr, port uint16) []byte {
	return netip.AddrPortFrom(ip, port).AppendTo(dst)
}

// isServiceChain says whether a chain of table nat has the name of a chain of
// one service port, made by this program or by kube-proxy.
func isServiceChain(name []byte) bool {
	for _, prefix := range [...]string{clusterPrefix, localPrefix, externalPrefix, lbPrefix, endpointPrefix} {
		if bytes.HasPrefix(name, []byte(prefix)) {
			return true
		}
	}
	return false
}
