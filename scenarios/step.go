package scenarios

import (
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Step is one thing that happens. Exactly one of the fields from Apply to Fault
// is given, or Sync alone.
type Step struct {
	document.Located
	Name string `json:"name" doc:"What the step is for."`

	Apply     Objects          `json:"apply" doc:"Kubernetes objects to create or replace."`
	Delete    []Ref            `json:"delete" doc:"Objects to delete: KIND NAMESPACE/NAME."`
	Node      *NodeChange      `json:"node" doc:"Changes a node's labels or addresses."`
	Advance   *metav1.Duration `json:"advance" doc:"Moves the clock, such as 10800s."`
	Restart   *NodeSet         `json:"restart" doc:"Restarts kube-proxy; the rules stay: true for every node, or a list of nodes."`
	Configure *KubeProxy       `json:"kubeProxy" doc:"With restart: KubeProxyConfiguration fields that are other than before."`
	Hold      *NodeSet         `json:"hold" doc:"The nodes whose kube-proxy gets no changes from here on: true, or a list of nodes. A node that leaves the list gets what was held back; false for all."`
	Deliver   *Delivery        `json:"deliver" doc:"Tells nodes that are held some of what was held back."`
	Start     []Pod            `json:"start" doc:"Pods that start here."`
	Stop      []string         `json:"stop" doc:"Pods that go; others may have their addresses afterwards."`
	Connect   *Connect         `json:"connect" doc:"A connection there and back."`
	Cases     []Connect        `json:"cases" doc:"Several connections, each of them from the same state."`
	Flow      *FlowPacket      `json:"flow" doc:"A later packet of a connection that was kept with \"as\"."`
	Send      *Send            `json:"send" doc:"One packet at a node."`
	Rules     *RulesCheck      `json:"rules" doc:"What the rules on the nodes hold."`
	Health    *HealthCheck     `json:"health" doc:"What kube-proxy answers to a load balancer's health check."`
	Healthz   *HealthzCheck    `json:"healthz" doc:"What kube-proxy says of itself."`
	Conntrack *ConntrackCheck  `json:"conntrack" doc:"The connections that nodes know."`
	Writes    *WritesCheck     `json:"writes" doc:"What the last sync of nodes has written."`
	Fault     *Fault           `json:"fault" doc:"What goes wrong behind kube-proxy's back. Not followed by a sync unless \"sync\" says so."`

	Sync      *NodeSet `json:"sync" doc:"Which nodes sync after the step: true, false or a list of nodes. Every node syncs after apply, delete, node, restart and deliver, if not given."`
	During    []During `json:"during" doc:"What is looked at within the sync."`
	SyncError string   `json:"syncError" doc:"The sync must fail with an error that contains this."`
	MayFail   bool     `json:"syncMayFail" doc:"The sync may fail or not: what counts comes later."`
}

// Looks reports whether the step looks at something, and changes nothing.
func (s *Step) Looks() bool { return s.action().does.nothing() }

// Tells reports whether the step changes what the API holds, of which proxiers are told.
func (s *Step) Tells() bool { return s.action().does == tells }

// Needs is what a backend must be able to do for the step, beyond what every backend can; empty: nothing.
func (s *Step) Needs() Need { return s.action().needs }

// syncs are the nodes that sync after a step.
func (s *Step) syncs(cluster *Cluster) []string {
	switch {
	case s.Sync == nil && s.action().does.syncs():
		return cluster.nodeNames()
	case s.Sync != nil:
		return s.Sync.of(cluster)
	}
	return nil
}

// NodeSet is every node, none, or some by name. In a file: true, false, a list.
type NodeSet struct {
	document.Located
	All   bool
	Names []string
}

// of are the names of the nodes that are meant.
func (s *NodeSet) of(c *Cluster) []string {
	if s.All {
		return c.nodeNames()
	}
	return s.Names
}

// UnmarshalDocument reads true, false or a list of names.
func (s *NodeSet) UnmarshalDocument(d *document.Decoder, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" {
		s.All = strings.EqualFold(n.Value, "true")
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.Errorf(n, "want true, false or a list of nodes")
		return
	}
	d.Decode(n, &s.Names)
}

func (s NodeSet) spell() (*yaml.Node, error) {
	if len(s.Names) > 0 {
		return itemsOf(reflect.ValueOf(s.Names))
	}
	return scalar("!!bool", strconv.FormatBool(s.All)), nil
}

// refs are the objects that a step deletes.
func (s *Step) refs() []manifest.Ref {
	out := make([]manifest.Ref, len(s.Delete))
	for i, ref := range s.Delete {
		out[i] = ref.Ref
	}
	return out
}

// Ref names an object in a file: "service ns/name".
type Ref struct {
	document.Located
	manifest.Ref
}

// UnmarshalDocument reads the text of a reference.
func (r *Ref) UnmarshalDocument(d *document.Decoder, n *yaml.Node) {
	text, ok := d.Scalar(n, "KIND NAMESPACE/NAME")
	if !ok {
		return
	}
	ref, err := manifest.ParseRef(text)
	if err != nil {
		d.Errorf(n, "%v", err)
	}
	r.Ref = ref
}

func (r Ref) spell() (*yaml.Node, error) { return document.Text(r.String()), nil }

func listOf[T any](items []T, name func(T) string) string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = name(item)
	}
	return strings.Join(out, ", ")
}
