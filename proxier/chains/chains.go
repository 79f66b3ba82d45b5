// Package chains has the names of the chains of one service port: a prefix for the purpose of a chain, and a hash of its service port or
// endpoint (chainhash). The names are kube-proxy's, so that both take over each other's rules. The renderer of the proxier writes them, and
// readers of rules find the service and the endpoint by them.
package chains

// Prefixes of the chains of one service port.
const (
	ClusterPrefix  = "KUBE-SVC-" // all endpoints that a node may use
	LocalPrefix    = "KUBE-SVL-" // those on the node itself
	ExternalPrefix = "KUBE-EXT-" // packets to addresses for clients outside
	FirewallPrefix = "KUBE-FW-"  // source ranges of a load balancer
	EndpointPrefix = "KUBE-SEP-" // one endpoint
)
