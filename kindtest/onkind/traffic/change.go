package traffic

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Bench is the cluster that changes, and who talks in it.
type Bench struct {
	Cluster *cluster.Cluster
	// Machine asks the agents of a node, or of the container outside, and the machine itself.
	Machine func(name string) *probe.Client
	// Mode is the proxy's.
	Mode string
}

// Change is something that happens under traffic.
type Change struct {
	Name string
	run  func(context.Context, *stage) (told string, err error)
}

// Changes are all of them, in the order in which they are tried.
func Changes() []Change {
	return []Change{
		{"a rolling update behind a load balancer of policy Local", rollingUpdate},
		{"the endpoint of a UDP flow goes away", endpointGoes},
		{"the proxier is killed and replaced", proxierReplaced},
		{"rules are flushed by hand", rulesFlushed},
		{"a node moves to another zone", zoneChanges},
	}
}

// patience bounds one change with all that comes before and after it.
const patience = 3 * time.Minute

// Run makes the change. Told says what was seen; the error says which connection failed, and why. What the change has made is taken away
// again in any case.
func (c Change) Run(ctx context.Context, b Bench) (told string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s := &stage{Bench: b}
	told, err = c.run(ctx, s)
	return told, s.end(ctx, err)
}

// agent is one that talks, and where it is.
type agent struct {
	machine, name string
	address       netip.Addr
}

// pods are the pool's pods of a node, with their address of the cluster's first family.
func (s *stage) pods(node string) []agent {
	var out []agent
	for _, p := range s.Cluster.Pods() {
		if p.Node == node {
			out = append(out, agent{p.Node, p.Name, p.Addresses[0]})
		}
	}
	return out
}

// outside is the container outside, with its address of the cluster's first family.
func (s *stage) outside() agent {
	o := s.Cluster.Outside()
	v6 := s.v6()
	i := slices.IndexFunc(o.Addresses, func(a netip.Addr) bool { return a.Is6() == v6 })
	return agent{o.Name, o.Name, o.Addresses[max(i, 0)]}
}

// v6 reports whether the cluster's first family is IPv6.
func (s *stage) v6() bool { return s.Cluster.Nodes()[0].Addresses[0].Is6() }

// workers are the nodes that are not the control plane.
func (s *stage) workers() []cluster.Node { return s.Cluster.Nodes()[1:] }

// serve makes an agent listen for a protocol and a port on its address.
func (s *stage) serve(ctx context.Context, a agent, proto inet.Proto, port uint16) error {
	s.later(func(ctx context.Context) error { return s.Machine(a.machine).Reset(ctx, a.name) })
	return s.Machine(a.machine).Serve(ctx, a.name, []probe.Listener{{Proto: proto, Addr: a.address, Port: port}})
}

// step is how long it is between two looks at something that changes by itself.
const step = 100 * time.Millisecond

// until waits for something. What says what it is.
func until(ctx context.Context, within time.Duration, what string, holds func(context.Context) (bool, error)) error {
	if err := wait.PollUntilContextTimeout(ctx, step, within, true, holds); err != nil {
		return fmt.Errorf("waiting %s until %s: %w", within, what, err)
	}
	return nil
}

// answers waits until an agent is answered at an address by all of these servers, and by nobody else.
func (s *stage) answers(ctx context.Context, from agent, proto inet.Proto, to netip.AddrPort, servers ...string) error {
	slices.Sort(servers)
	var seen []string
	err := until(ctx, time.Minute, fmt.Sprintf("%s answers %s by %v", to, from.name, servers), func(ctx context.Context) (bool, error) {
		results, err := s.Machine(from.machine).Dial(ctx, from.name,
			probe.Dial{Proto: proto, To: to, Times: 10 * len(servers), Timeout: time.Second})
		if err != nil {
			return false, err
		}
		seen = nil
		for i := range results {
			seen = append(seen, outcomeOf(&results[i]))
		}
		slices.Sort(seen)
		seen = slices.Compact(seen)
		return slices.Equal(seen, servers), nil
	})
	if err != nil {
		return fmt.Errorf("%w; seen were %v", err, seen)
	}
	return nil
}

// outcomeOf is who answered, or how it ended.
func outcomeOf(r *probe.Result) string {
	if r.End == probe.Answered {
		return r.Server
	}
	return string(r.End)
}
