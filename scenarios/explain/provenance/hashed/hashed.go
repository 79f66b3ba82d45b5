// Package hashed has the names of the chains that kube-proxy and Calico make for an object. The names have hashes of the object, so no
// object can be read from a name: a caller with the objects asks for the names of their chains.
package hashed

import (
	"crypto/sha256"
	"encoding/base64"
	"net/netip"

	"github.com/chainwalk/chainwalk/proxier/chains"
	"github.com/chainwalk/chainwalk/proxier/chains/chainhash"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// ServiceChains are the chains that kube-proxy may make for a service port. The protocol is in small letters.
func ServiceChains(port provenance.ServicePort, protocol string) []string {
	hash := chainhash.Of([]byte(string(port) + protocol))
	var out []string
	for _, prefix := range []string{chains.ClusterPrefix, chains.LocalPrefix, chains.ExternalPrefix, chains.FirewallPrefix} {
		out = append(out, prefix+string(hash[:]))
	}
	return out
}

// EndpointChain is the chain that kube-proxy makes for an endpoint of a service port. The protocol is in small letters.
func EndpointChain(port provenance.ServicePort, protocol string, endpoint netip.AddrPort) string {
	hash := chainhash.Of([]byte(string(port) + protocol + endpoint.String()))
	return chains.EndpointPrefix + string(hash[:])
}

// PolicyChains are the chains that Calico has for a NetworkPolicy. Those of kube-router cannot be told from its name.
func PolicyChains(namespace, name string) []string {
	var out []string
	for _, prefix := range []string{"cali-pi-", "cali-po-"} {
		out = append(out, calicoChain(prefix, namespace+"/knp.default."+name))
	}
	return out
}

// calicoChain is the chain that Calico has for something: its name, or a part of its hash where that is longer than a chain's name can be.
func calicoChain(prefix, name string) string {
	const longest = 28
	if len(prefix)+len(name) <= longest {
		return prefix + name
	}
	hash := sha256.Sum256([]byte(name))
	return (prefix + "_" + base64.RawURLEncoding.EncodeToString(hash[:]))[:longest]
}
