// Package chains knows how the chains of one service port are called: a prefix that says what a chain is for, and a hash of what it
// is of (chainhash). The names are kube-proxy's, so that both take over each other's rules. The renderer of the proxier writes them, and
// who reads rules finds the service and the endpoint by them.
package chains

// Prefixes of the chains of one service port.
const (
	ClusterPrefix  = "KUBE-SVC-" // all endpoints that a node may use
	LocalPrefix    = "KUBE-SVL-" // those on the node itself
	ExternalPrefix = "KUBE-EXT-" // packets to addresses for clients outside
	FirewallPrefix = "KUBE-FW-"  // source ranges of a load balancer
	EndpointPrefix = "KUBE-SEP-" // one endpoint
)
