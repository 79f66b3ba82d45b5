package scenarios

import (
	"context"
	"net/netip"
	"time"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/manifest"
)

// Backend builds clusters: in memory, in network namespaces, or in kind.
type Backend interface {
	// Name is the word by which scenarios and users choose the backend.
	Name() string
	// Start builds the cluster with its objects and starts a kube-proxy on every
	// node. No kube-proxy has synced yet when it returns.
	Start(ctx context.Context, c *Cluster) (Session, error)
}

// Session is one running cluster. The runner calls its methods one at a time.
// Except where said otherwise an error means that the backend itself failed;
// what the cluster does with packets is never an error.
type Session interface {
	// Apply creates or replaces objects. kube-proxy has seen them when it returns.
	Apply(ctx context.Context, objects []manifest.Object) error
	// Delete deletes objects; one that is not there is an error.
	Delete(ctx context.Context, refs []manifest.Ref) error
	// Sync makes kube-proxy on these nodes write its rules. The error is
	// kube-proxy's, naming the node.
	Sync(ctx context.Context, nodes []string) error
	// Restart starts kube-proxy on these nodes anew, with the configuration that
	// the Cluster now has for them, on the rules that are there.
	Restart(ctx context.Context, nodes []string) error
	// Advance moves every clock.
	Advance(ctx context.Context, d time.Duration) error
	// Connect makes a connection. Without Attempt.Keep it leaves the cluster as it was.
	Connect(ctx context.Context, a Attempt) (*Observed, error)
	// Follow sends a later packet of a kept connection; what it does stays.
	Follow(ctx context.Context, p FlowPacket) (*Observed, error)
	// Send gives one packet to a node and leaves the cluster as it was.
	Send(ctx context.Context, node string, in packetsim.Input) (*Observed, error)
	// Save is what iptables-save -c prints on a node; ip6tables-save for ipv6.
	Save(ctx context.Context, node string, family IPFamily) (string, error)
	// Accounting are the packets that a node's nfacct objects have counted, by name.
	Accounting(ctx context.Context, node string) (map[string]int, error)
	// Health is what kube-proxy on a node says of the services that have a health
	// check, by NAMESPACE/NAME: how many ready endpoints of the cluster's first
	// family the node has.
	Health(ctx context.Context, node string) (map[string]int, error)
	// Fault makes something go wrong.
	Fault(ctx context.Context, f Fault) error
	// Close takes the cluster down.
	Close() error
}

// Attempt is a connection to make.
type Attempt struct {
	From string // the name of a node, a pod or a machine
	Bind Bind
	To   Target
	Via  string // the node that the router sends the packet to; a name, never empty
	// Keep is the name to keep the connection under. The way that is kept is the
	// one to Pick, or else the first that the client gets an answer on.
	Keep string
	Pick netip.AddrPort
}

// Observed is what became of a packet or a connection: every way it can take.
type Observed struct {
	Ways []Way
	// Samples is how many times it was tried, where the probabilities are counted
	// and not calculated; 0 where they are exact.
	Samples int
	// NoRules says that the backend does not see which rules a packet meets.
	NoRules bool
	// Kept is the place in Ways of the connection that was kept.
	Kept int
}
