package gather

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Gatherer gathers once.
type Gatherer struct {
	API *API
	// Namespace is where the collector's pods are made, and Image is what they run. PullSecret is a secret of that namespace for the image's
	// registry, empty for none.
	Namespace, Image, PullSecret string
	// Run is a word that no other run has, of small letters and digits: it is part of the names of pods.
	Run string
	// Nodes are asked; none: all. Selector chooses among the nodes' labels.
	Nodes    []string
	Selector labels.Selector
	// NodeTime is how long a node may take to start its pod, and as long again to print.
	NodeTime time.Duration
	// Confirm is told what will be made, before it is, and returns an error if it must not be.
	Confirm func(ctx context.Context, plan string) error
	// Say is told what happens, in a line. It is called by several goroutines at once.
	Say func(string)
	// Pause waits between two looks at a pod. It returns early with an error when the context ends.
	Pause func(context.Context, time.Duration) error
}

// Gathered is what is known of a cluster.
type Gathered struct {
	Objects []manifest.Object
	// Nodes were asked, in the order of the objects.
	Nodes []Node
	// Notes say what the API server did not tell, and Grant are the roles that let it.
	Notes []string
	Grant string
	// Anonymous says that names, addresses and times are not the cluster's own.
	Anonymous bool
	// Foretold says that it is the cluster as it would be after a change that was not made. Notes say which nodes are so.
	Foretold bool
}

// Node is a node that was asked for its snapshot.
type Node struct {
	Name string
	// Text is its NodeSnapshot as the collector has written it, and Snapshot the same; nil if there is none. A Snapshot that no collector has
	// written has no Text.
	Text     []byte
	Snapshot *snapshot.NodeSnapshot
	// Why says why there is none.
	Why string
}

// Snapshots are of the nodes that gave one.
func (g *Gathered) Snapshots() []*snapshot.NodeSnapshot {
	var out []*snapshot.NodeSnapshot
	for i := range g.Nodes {
		if s := g.Nodes[i].Snapshot; s != nil {
			out = append(out, s)
		}
	}
	return out
}

// Silent are the nodes without a snapshot, with the reasons.
func (g *Gathered) Silent() map[string]string {
	out := map[string]string{}
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Snapshot == nil {
			out[n.Name] = n.Why
		}
	}
	return out
}

// ErrInterrupted says that somebody ended the gathering. Its pods are removed, or Say was told which are not.
var ErrInterrupted = errors.New("interrupted")

// Gather reads the objects and asks the nodes. A node that gives no snapshot is no error; that nothing may be read or made is one: a
// *MissingError where rights are missing.
func (g *Gatherer) Gather(ctx context.Context) (*Gathered, error) {
	lacking, err := g.API.checkRights(ctx, g.Namespace)
	if err != nil {
		return nil, err
	}
	out := &Gathered{}
	if len(lacking) > 0 {
		out.Grant = (&MissingError{lacking, g.Namespace}).roles()
	}
	for _, r := range lacking {
		out.Notes = append(out.Notes, fmt.Sprintf("the API server does not allow it to %s: %s", r, r.Without))
	}
	if out.Objects, err = g.objects(ctx, lacking); err != nil {
		return nil, err
	}
	if !slices.Contains(lacking, configurationRight()) {
		config, err := g.configuration(ctx)
		if err != nil {
			return nil, err
		}
		if config != nil {
			out.Objects = append(out.Objects, *config)
		}
	}
	nodes, err := g.chosen(manifest.Of[*corev1.Node](out.Objects))
	if err != nil {
		return nil, err
	}
	out.Nodes = nodes
	if slices.ContainsFunc(nodes, func(n Node) bool { return n.Why == "" }) {
		if err := g.Confirm(ctx, g.plan(nodes)); err != nil {
			return nil, err
		}
	}
	if err := g.collect(ctx, out.Nodes); err != nil {
		return nil, err
	}
	return out, nil
}

// configurationRight is the right to read kube-proxy's configuration.
func configurationRight() Right {
	rights := Rights("")
	return rights[slices.IndexFunc(rights, func(r Right) bool { return r.Resource == "configmaps" })]
}

// chosen are the nodes that are asked, those among them with a reason that cannot answer.
func (g *Gatherer) chosen(all []*corev1.Node) ([]Node, error) {
	var names []string
	var out []Node
	for _, node := range all {
		names = append(names, node.Name)
		if len(g.Nodes) > 0 && !slices.Contains(g.Nodes, node.Name) || g.Selector != nil && !g.Selector.Matches(labels.Set(node.Labels)) {
			continue
		}
		out = append(out, Node{Name: node.Name, Why: cannotAnswer(node)})
	}
	for _, name := range g.Nodes {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("--nodes %s: the cluster has no such node, but %s", name, strings.Join(names, ", "))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no node is chosen: the cluster has %s", strings.Join(names, ", "))
	}
	return out, nil
}

// cannotAnswer says why no pod would start on a node; empty if one may.
func cannotAnswer(node *corev1.Node) string {
	if system := node.Labels[corev1.LabelOSStable]; system != "" && system != "linux" {
		return "it runs " + system
	}
	for _, c := range node.Status.Conditions {
		// A node that is not ready may run a pod in its own network. Of one whose state is unknown the kubelet is silent.
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown {
			return fmt.Sprintf("its kubelet has been silent since %s (%s)", c.LastTransitionTime.UTC().Format(time.RFC3339), c.Reason)
		}
	}
	return ""
}

// plan says what will be made.
func (g *Gatherer) plan(nodes []Node) string {
	var ask []string
	var b strings.Builder
	for i := range nodes {
		if n := &nodes[i]; n.Why == "" {
			ask = append(ask, n.Name)
		} else {
			fmt.Fprintf(&b, "%s is not asked: %s.\n", n.Name, n.Why)
		}
	}
	var caps []string
	for _, c := range capabilities() {
		caps = append(caps, string(c))
	}
	fmt.Fprintf(&b, "This makes a pod on each of these nodes, in namespace %s, and removes it when it has printed the node's snapshot:\n",
		g.Namespace)
	for _, line := range [][2]string{
		{"nodes", fmt.Sprintf("%d: %s", len(ask), strings.Join(ask, ", "))},
		{"image", g.Image},
		{"may", "use the node's network; " + strings.Join(caps, ", ") + "; read the node's files (/ is mounted read-only)"},
		{"may not", "write files, gain further privileges, use the API (it has no service account's token)"},
		{"at most", fmt.Sprintf("%s each, %s CPU, %s of memory", g.NodeTime, cpuLimit, memoryLimit)},
		{"reads", "devices, addresses, routes, settings below net., rules, sets and connections; it changes nothing"},
		{"if killed", g.removal()},
	} {
		fmt.Fprintf(&b, "  %-9s %s\n", line[0], line[1])
	}
	return b.String()
}

// removal is the command that removes what a run has left.
func (g *Gatherer) removal() string {
	return fmt.Sprintf("kubectl delete pods -n %s -l %s=%s", g.Namespace, labelRun, g.Run)
}
