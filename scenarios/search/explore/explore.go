package explore

import (
	"cmp"
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

// entrance is how the client calls the service.
type entrance string

// The paths.
const (
	byClusterIP entrance = "clusterIP" // a pod of the node calls the cluster IP
	byNodePort  entrance = "nodePort"  // a machine outside calls the node port, and is masqueraded
)

// exploration is a small world and how far its sequences go: one node, a client, a service
// of one port and its endpoints, of which the first comes and goes.
type exploration struct {
	protocol  corev1.Protocol // TCP, UDP or SCTP
	path      entrance
	endpoints int // 1 or 2
	depth     int // the number of letters of the longest sequences
	dialect   netfilter.Dialect
	mode      scenarios.Mode // of kube-proxy; empty: iptables
	// proxier makes the node's proxiers; nil: this project's own.
	proxier node.Proxier
}

// result is what came of an exploration.
type result struct {
	sequences int
	// packets are the client's packets that were judged.
	packets int
	// clauses count how often each clause decided about one.
	clauses         map[string]int
	counterexamples []counterexample
}

// counterexample is a sequence after which the specification does not allow what becomes of the client's next packet.
type counterexample struct {
	sequence  sequence
	clause    *oracle.Clause
	want, got string
	// witness is an ordinary scenario that fails for it; nil where the format has no words for what is allowed.
	witness *scenarios.Scenario
}

// allExplorations are the explorations of every protocol and path in a mode, with one endpoint and with two.
func allExplorations(depth int, tool netfilter.Dialect, mode scenarios.Mode) []exploration {
	var out []exploration
	for _, protocol := range []corev1.Protocol{corev1.ProtocolUDP, corev1.ProtocolTCP, corev1.ProtocolSCTP} {
		for _, path := range []entrance{byClusterIP, byNodePort} {
			for endpoints := 1; endpoints <= 2; endpoints++ {
				out = append(out, exploration{protocol: protocol, path: path, endpoints: endpoints, depth: depth, dialect: tool, mode: mode})
			}
		}
	}
	return out
}

// String names the exploration.
func (e *exploration) String() string {
	return fmt.Sprintf("%s %s %d %s %s", e.protocol, e.path, e.endpoints, e.dialect, cmp.Or(e.mode, scenarios.ModeIPTables))
}

// run tries every sequence. A sequence that begins with one that is a counterexample is left out. The error says that the world cannot be
// made, or that the context has ended.
func (e *exploration) run(ctx context.Context) (*result, error) {
	world, err := e.small()
	if err != nil {
		return nil, err
	}
	cluster, err := scenarios.ResolveWith(world.base, controller.New)
	if err != nil {
		return nil, err
	}
	report := &result{clauses: map[string]int{}}
	specs := map[state]*oracle.Spec{}
	var broken sequence
	each(e.depth, func(s sequence) bool {
		if broken != nil && len(s) > len(broken) && slices.Equal(s[:len(broken)], broken) {
			return true
		}
		r := &run{small: world, cluster: cluster.With(e.dialect), specs: specs, report: report, sequence: s}
		report.sequences++
		before := len(report.counterexamples)
		if err = r.all(ctx); err == nil {
			err = ctx.Err()
		}
		if len(report.counterexamples) > before {
			broken = slices.Clone(s)
		}
		return err == nil
	})
	return report, err
}

// print writes the figures of a report, the same for the same exploration.
func (r *result) print(w io.Writer) {
	fmt.Fprintf(w, "%d sequences, %d packets judged, %d findings\n", r.sequences, r.packets, len(r.counterexamples))
	for _, name := range slices.Sorted(maps.Keys(r.clauses)) {
		fmt.Fprintf(w, "  %s: %d\n", name, r.clauses[name])
	}
	for i := range r.counterexamples {
		f := &r.counterexamples[i]
		fmt.Fprintf(w, "%s breaks %s: want %s, got %s\n", f.sequence, f.clause.Name, f.want, f.got)
	}
}
