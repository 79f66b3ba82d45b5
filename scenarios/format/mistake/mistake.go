package mistake

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Mistake is one thing that is likely to be wrong.
type Mistake struct {
	document.Position
	Kind Kind
	// Object is what it is about, such as "service shop/web"; empty for a scenario.
	Object string
	// Msg says what is wrong, and what to write instead where that is not plain.
	Msg string
}

// String prints the mistake as errors are printed, with its kind behind it.
func (m Mistake) String() string {
	object := ""
	if m.Object != "" {
		object = m.Object + ": "
	}
	return fmt.Sprintf("%s: %s%s [%s]", m.Position, object, m.Msg, m.Kind)
}

// Kind says what a mistake is, in a word by which scenarios say that it is their point.
type Kind string

// The kinds.
const (
	DuplicateObject      Kind = "duplicate-object"       // two objects of one kind and name at once
	ClusterIPTaken       Kind = "cluster-ip-taken"       // two services with one cluster IP
	ClusterIPMissing     Kind = "cluster-ip-missing"     // a service that has none, and is not headless
	ClusterIPElsewhere   Kind = "cluster-ip-elsewhere"   // a cluster IP that nodes or pods have
	NodePortTaken        Kind = "node-port-taken"        // two services with one node port
	NodePortMissing      Kind = "node-port-missing"      // a port of a NodePort service without one
	NodePortRange        Kind = "node-port-range"        // a node port that API servers do not give out
	HealthCheckMissing   Kind = "health-check-missing"   // a load balancer of policy Local without a port for health checks
	FieldIgnored         Kind = "field-ignored"          // a field that says nothing about a service of this type
	SliceWithoutService  Kind = "slice-without-service"  // a slice whose label names no service
	SlicePort            Kind = "slice-port"             // a port of a slice that is no port of the service
	ServicePortUnserved  Kind = "service-port-unserved"  // a port of a service that no slice has
	EndpointFamily       Kind = "endpoint-family"        // an endpoint or a slice of another family than it should be
	UnknownNode          Kind = "unknown-node"           // an endpoint on a node that is not there
	OtherNode            Kind = "other-node"             // an endpoint whose address is another node's
	UnknownZone          Kind = "unknown-zone"           // a hint for a zone or a node that is not there
	SelectorWithoutSlice Kind = "selector-without-slice" // a service that selects pods, and has neither pods nor slices
	NotThere             Kind = "not-there"              // a kind in the scenario's field mistakes that is not in it
	NothingChecked       Kind = "nothing-checked"        // a scenario without a check
)

// kinds returns the mistakes that a scenario may declare as intended.
func kinds() []Kind {
	return []Kind{
		DuplicateObject, ClusterIPTaken, ClusterIPMissing, ClusterIPElsewhere, NodePortTaken, NodePortMissing, NodePortRange,
		HealthCheckMissing, FieldIgnored, SliceWithoutService, SlicePort, ServicePortUnserved, EndpointFamily, UnknownNode, OtherNode,
		UnknownZone, SelectorWithoutSlice,
	}
}

// finder collects mistakes, each once.
type finder struct {
	found []Mistake
	seen  map[Mistake]bool
}

func newFinder() *finder { return &finder{seen: map[Mistake]bool{}} }

// errorf notes a mistake at a field of an object.
func (f *finder) errorf(kind Kind, o manifest.Object, path []any, format string, args ...any) {
	f.note(Mistake{Position: o.At(path...), Kind: kind, Object: o.Ref().String(), Msg: fmt.Sprintf(format, args...)})
}

func (f *finder) note(m Mistake) {
	if !f.seen[m] {
		f.seen[m] = true
		f.found = append(f.found, m)
	}
}

// sorted are the mistakes by their places.
func (f *finder) sorted() []Mistake {
	slices.SortStableFunc(f.found, func(a, b Mistake) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return f.found
}

// at is the path of a field, of keys and indexes.
func at(path ...any) []any { return path }
