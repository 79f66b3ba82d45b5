package oracle

import (
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Spec says what may become of packets in one state of a cluster. It is safe for
// use by one goroutine at a time.
type Spec struct{ cluster *Cluster }

type rest struct{}

// New makes the specification of a state that all nodes know.
func New(c *Cluster) *Spec { return &Spec{cluster: c} }

// With is the specification of a state that some nodes know otherwise: known has
// what a node was told, by its name, for those nodes that were told something
// else than s. The network is that of s.
func (s *Spec) With(known map[string]*Spec) *Spec { return s }

// Attempts are the packets of every class that concerns the state: each kind of client to each
// kind of destination, those of no service too.
func (s *Spec) Attempts() []Attempt { return nil }

// Concerning are those of Attempts that a change of these services can concern.
func (s *Spec) Concerning(services ...types.NamespacedName) []Attempt { return nil }

// Martians are packets that no client's own routing would send: addressed to a
// node's loopback, or from it. Each is to be given to the device of the node Via that faces the underlay.
func (s *Spec) Martians() []Attempt { return nil }

// Expect says what may become of an attempt, if no earlier connection is remembered.
func (s *Spec) Expect(a Attempt) Answer { return Answer{} }

// Judge says what of the ways that an attempt took is not allowed.
func (s *Spec) Judge(a Attempt, ways []Way) []Violation { return nil }

// Between judges an attempt that is made within a sync that leads from s to after:
// what either of them allows is allowed, and what a window between them allows.
func (s *Spec) Between(after *Spec, a Attempt, ways []Way) []Violation { return nil }

// Source is the source of the endpoint at a place of Endpoints, as it sees the packet.
func (a *Answer) Source(endpoint int) Source { return Either }

// Heard says whether the client must hear the answer of the endpoint at a place of Endpoints;
// otherwise it may not, as the network leads the answer past the node that translated.
func (a *Answer) Heard(endpoint int) bool { return false }

// At says where and how a packet to the endpoint at a place of Endpoints ends.
func (a *Answer) At(endpoint int) (host string, end End) { return "", "" }

// Clauses are those that decided.
func (a *Answer) Clauses() []*Clause { return nil }

// String says in words what is allowed.
func (a *Answer) String() string { return "" }

// Affinity remembers which endpoints clients reached, as a service with session affinity
// ClientIP has to. Its zero value is ready for use.
type Affinity struct{}

// Made notes a connection that was kept (what is only asked leaves nothing behind).
func (m *Affinity) Made(s *Spec, a Attempt, way Way, at time.Time) {}

// Synced notes that the nodes know s from now on: what has stopped to be usable is no longer sure to be remembered.
func (m *Affinity) Synced(s *Spec) {}

// Forget notes that a node's rules were gone, and with them what they remembered.
func (m *Affinity) Forget(node string) {}

// Expect is Spec.Expect with what is remembered.
func (m *Affinity) Expect(s *Spec, a Attempt, at time.Time) Answer { return s.Expect(a) }

// Judge is Spec.Judge with what is remembered.
func (m *Affinity) Judge(s *Spec, a Attempt, at time.Time, ways []Way) []Violation { return nil }

// Flow is a connection that was kept, and what is known of it.
type Flow struct{}

// Side is an end of a flow.
type Side string

// The sides.
const (
	FromClient Side = "client"
	FromServer Side = "server"
)

// Later is a later packet of a flow.
type Later struct {
	From Side
	// OutOfWindow says that conntrack takes it for INVALID (TCP only).
	OutOfWindow bool
	// Reset is a TCP packet that ends the flow at once.
	Reset bool
}

// Keep begins a flow: the attempt took the way when the nodes knew s. The kinds of protocols differ: a datagram that nobody
// answered begins one too.
func (s *Spec) Keep(a Attempt, way Way) *Flow { return nil }

// Synced notes that a sync succeeded on every node that the flow passes, and that they know s now.
func (f *Flow) Synced(s *Spec) {}

// Idle notes that a time passed without a packet of the flow.
func (f *Flow) Idle(d time.Duration) {}

// Expect says what may become of the next packet of the client. Open: the specification says nothing (any more).
func (f *Flow) Expect(p Later) Answer { return Answer{Open: true} }

// Judge says what of the ways of a later packet is not allowed. Way.Heard says there that the other end's socket took the
// packet for one of the connection.
func (f *Flow) Judge(p Later, ways []Way) []Violation { return nil }

var _ netip.Addr
