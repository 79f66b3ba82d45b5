package explore

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
)

// Path is how the client calls the service.
type Path string

// The paths.
const (
	ClusterIP Path = "clusterIP" // a pod of the node calls the cluster IP
	NodePort  Path = "nodePort"  // a machine outside calls the node port, and is masqueraded
)

// Exploration is a small world and how far its sequences go: one node, a client, a service
// of one port and its endpoints, of which the first comes and goes.
type Exploration struct {
	Protocol  corev1.Protocol // TCP, UDP or SCTP
	Path      Path
	Endpoints int // 1 or 2
	Depth     int // the number of letters of the longest sequences
	Dialect   netfilter.Dialect
	// Proxier makes the node's proxiers; nil: this project's own.
	Proxier node.Proxier
}

// Report is what came of an exploration.
type Report struct {
	Sequences int
	// Packets are those of the client that were judged.
	Packets int
	// Clauses count how often each clause decided about one.
	Clauses         map[string]int
	Counterexamples []Counterexample
}

// Counterexample is a sequence after which the specification does not allow what becomes of the client's next packet.
type Counterexample struct {
	Sequence  Sequence
	Clause    *oracle.Clause
	Want, Got string
	// Witness is an ordinary scenario that fails for it; nil where the format has no words for what is allowed.
	Witness *scenarios.Scenario
}

// All are the explorations of every protocol and path, with one endpoint and with two.
func All(depth int, tool netfilter.Dialect) []Exploration {
	var out []Exploration
	for _, protocol := range []corev1.Protocol{corev1.ProtocolUDP, corev1.ProtocolTCP, corev1.ProtocolSCTP} {
		for _, path := range []Path{ClusterIP, NodePort} {
			for endpoints := 1; endpoints <= 2; endpoints++ {
				out = append(out, Exploration{Protocol: protocol, Path: path, Endpoints: endpoints, Depth: depth, Dialect: tool})
			}
		}
	}
	return out
}

// String names the exploration.
func (e *Exploration) String() string {
	return fmt.Sprintf("%s %s %d %s", e.Protocol, e.Path, e.Endpoints, e.Dialect)
}

// Run tries every sequence. A sequence that begins with one that is a counterexample is left out. The error says that the world cannot be
// made, or that the context has ended.
func (e *Exploration) Run(ctx context.Context) (*Report, error) {
	world, err := e.small()
	if err != nil {
		return nil, err
	}
	cluster, err := scenarios.ResolveWith(world.base, controller.New)
	if err != nil {
		return nil, err
	}
	report := &Report{Clauses: map[string]int{}}
	specs := map[state]*oracle.Spec{}
	var broken Sequence
	each(e.Depth, func(s Sequence) bool {
		if broken != nil && len(s) > len(broken) && slices.Equal(s[:len(broken)], broken) {
			return true
		}
		r := &run{small: world, cluster: cluster.With(e.Dialect), specs: specs, report: report, sequence: s}
		report.Sequences++
		before := len(report.Counterexamples)
		if err = r.all(ctx); err == nil {
			err = ctx.Err()
		}
		if len(report.Counterexamples) > before {
			broken = slices.Clone(s)
		}
		return err == nil
	})
	return report, err
}

// Print writes the figures of a report, the same for the same exploration.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "%d sequences, %d packets judged, %d findings\n", r.Sequences, r.Packets, len(r.Counterexamples))
	for _, name := range slices.Sorted(maps.Keys(r.Clauses)) {
		fmt.Fprintf(w, "  %s: %d\n", name, r.Clauses[name])
	}
	for i := range r.Counterexamples {
		f := &r.Counterexamples[i]
		fmt.Fprintf(w, "%s breaks %s: want %s, got %s\n", f.Sequence, f.Clause.Name, f.Want, f.Got)
	}
}
