package scenarios

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/explain/whynot"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Backend builds clusters: in memory, in network namespaces, or in kind.
type Backend interface {
	// Name is the word by which scenarios and users choose the backend.
	Name() string
	// Start builds the cluster with its objects and starts a kube-proxy on every
	// node. No kube-proxy has synced yet when it returns.
	Start(ctx context.Context, c *Cluster) (Session, error)
}

// Limited is a backend that cannot run every scenario, or not with every variant of the tools.
type Limited interface {
	Backend
	// Unsupported says why the backend cannot run a scenario; empty if it can.
	Unsupported(s *Scenario) string
	// Tools are the variants that its nodes have. A scenario that wants others only is not run.
	Dialects() []netfilter.Dialect
}

// ControlledBackend is a backend that knows the controller that makes the EndpointSlices of services that select pods. Run asks it for
// scenarios that were read without one.
type ControlledBackend interface {
	Backend
	// SliceController is a manifest.NewSliceController.
	SliceController(ever []manifest.Object) manifest.SliceController
}

// TableSession is a session that makes the connections of a table together, where that is quicker than one by one.
type TableSession interface {
	Session
	// ConnectAll makes connections, none of which is kept, each from the same state. What it has observed is in their order.
	ConnectAll(ctx context.Context, attempts []Attempt) ([]*Observed, error)
}

// BlindSession is a session that cannot look at everything that a step may ask for.
type BlindSession interface {
	Session
	// Unseen says why it cannot look at what a step asks for; empty if it can. Such a check is passed over, and counted apart.
	Unseen(s *Step) string
}

// PromptSession is a session on proxies that sync by themselves, soon after a change.
type PromptSession interface {
	Session
	// NotYet says before a change which nodes' proxies are to write nothing of it until Sync or Restart names them.
	NotYet(ctx context.Context, nodes []string) error
}

// WhySession is a session that can say why packets do not come to endpoints that they could have been expected to come to.
type WhySession interface {
	Session
	// WhyNot says it of the ways that a first packet was seen to take, as long as the cluster is as it is now: the API holds the objects, and
	// the book has the names of all that there is at some time.
	WhyNot(objects []manifest.Object, book *names.Book) func(ways []Way) whynot.Answer
}

// Session is one running cluster. The runner calls its methods one at a time.
// Except where said otherwise an error means that the backend itself failed;
// what the cluster does with packets is never an error.
type Session interface {
	// Apply creates or replaces objects. kube-proxy has seen them when it returns, unless its node is held.
	Apply(ctx context.Context, objects []manifest.Object) error
	// Delete deletes objects; one that is not there is an error.
	Delete(ctx context.Context, refs []manifest.Ref) error
	// Sync makes kube-proxy on these nodes write its rules. The error is
	// kube-proxy's, naming the node.
	Sync(ctx context.Context, nodes []string) error
	// Restart starts kube-proxy on these nodes anew, with the configuration that
	// the Cluster now has for them, on the rules that are there. It lists all objects as
	// they are; what was held back from the one before is told to nobody.
	Restart(ctx context.Context, nodes []string) error
	// Advance moves every clock.
	Advance(ctx context.Context, d time.Duration) error
	// Connect makes a connection. Without Attempt.Keep it leaves the cluster as it was.
	Connect(ctx context.Context, a Attempt) (*Observed, error)
	// Follow sends a later packet of a kept connection; what it does stays.
	Follow(ctx context.Context, p FlowPacket) (*Observed, error)
	// Send gives one packet to a node and leaves the cluster as it was.
	Send(ctx context.Context, node string, in inet.Input) (*Observed, error)
	// Save is what iptables-save -c prints on a node; ip6tables-save for ipv6.
	Save(ctx context.Context, node string, family IPFamily) (string, error)
	// Accounting are the packets that a node's nfacct objects have counted, by name.
	Accounting(ctx context.Context, node string) (map[string]int, error)
	// Hold says which nodes' kube-proxys are not told of changes from here on. Those that
	// were held and are no longer are told what was held back, in order.
	Hold(ctx context.Context, nodes []string) error
	// Deliver tells held nodes some of what was held back. Nodes are given.
	Deliver(ctx context.Context, d Delivery) error
	// StartPods adds pods to the Cluster (Cluster.StartPods) and to the network.
	StartPods(ctx context.Context, pods []Pod) error
	// StopPods takes pods from the Cluster (Cluster.StopPods) and from the network.
	StopPods(ctx context.Context, names []string) error
	// SetAddresses gives a node other addresses, in the Cluster (Cluster.SetAddresses) and
	// in the network. The Node object is not its matter.
	SetAddresses(ctx context.Context, node string, addresses []netip.Addr) error
	// Conntrack are the connections that a node knows, those of its own among them.
	Conntrack(ctx context.Context, node string) ([]Tracked, error)
	// Writes is what kube-proxy on a node has written in its last sync.
	Writes(ctx context.Context, node string) (Written, error)
	// Healthz is what kube-proxy on a node says of itself.
	Healthz(ctx context.Context, node string) (bool, error)
	// During has a function called at every point of the syncs from here on; nil ends that.
	// Nodes sync one after the other then, and restores commit one table after the other.
	// The function may call Connect, Follow, Send, Save, Accounting, Health, Healthz and Conntrack.
	During(ctx context.Context, watch func(context.Context, Point)) error
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
	// NoRules says that the backend does not see which rules a packet meets, nor why the kernel drops one. Texts of rules and reasons,
	// steps and numbers of rules in an expectation are not looked at then.
	NoRules bool
	// Kept is the place in Ways of the connection that was kept.
	Kept int
	// Prediction is what a simulation says of it, for backends that have one beside what happens.
	Prediction *Prediction
	// Rules are the lines of iptables-save on a node as they were then, without counters; nil where the backend does not keep them.
	Rules func(node string) []string
}

// Prediction is what was to be expected from the rules that are there, whatever a scenario expects of them.
type Prediction struct {
	// Ways are all that can happen, with their exact probabilities.
	Ways []Way
	// Wrong says how what happened is another thing, empty if it is not. A check fails by it.
	Wrong string
	// None says why nothing can be predicted; empty if something is.
	None string
	// Partly says why the probabilities of Ways are not known, which are what can happen then; empty if they are known.
	Partly string
}

// String is the prediction in a few words.
func (p *Prediction) String() string {
	switch {
	case p.None != "":
		return "nothing: " + p.None
	case p.Partly != "":
		return strings.Join(ends(p.Ways), "; ") + "; how often is not known: " + p.Partly
	}
	return describeWays(p.Ways)
}
