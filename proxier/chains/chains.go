// Package chains knows how the chains of one service port are called: a prefix that says what a chain is for, and a hash of what it
// is of. The names are kube-proxy's, so that both take over each other's rules. The renderer of the proxier writes them, and who reads
// rules finds the service and the endpoint by them.
package chains

import (
	"crypto/sha256"
	"encoding/base32"
)

// Prefixes of the chains of one service port.
const (
	ClusterPrefix  = "KUBE-SVC-" // all endpoints that a node may use
	LocalPrefix    = "KUBE-SVL-" // those on the node itself
	ExternalPrefix = "KUBE-EXT-" // packets to addresses for clients outside
	FirewallPrefix = "KUBE-FW-"  // source ranges of a load balancer
	EndpointPrefix = "KUBE-SEP-" // one endpoint
)

// Hash ends the name of a chain. A chain name holds at most 28 bytes.
type Hash [16]byte

// HashOf returns the first 16 characters of the base32 text of the SHA-256 sum. The key of a service port is "NAMESPACE/NAME:PORT", or
// "NAMESPACE/NAME" where the port has no name, and its protocol in small letters; that of an endpoint is the service port's with
// "ADDRESS:PORT" behind it, an IPv6 address in brackets.
func HashOf(key []byte) Hash {
	sum := sha256.Sum256(key)
	var text Hash
	base32.StdEncoding.Encode(text[:], sum[:10])
	return text
}
