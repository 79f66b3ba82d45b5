package scenarios

import (
	"slices"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Scenario is one scenario file, as Load and Read return it, or one that was made in Go.
// It may be run several times, at the same time as well.
type Scenario struct {
	document.Located
	Name        string    `json:"name" required:"true" doc:"What is tried, in a few words."`
	Description string    `json:"description" doc:"Why it matters, and what is expected in plain words."`
	Refs        []string  `json:"refs" doc:"Issues and documents, such as kubernetes#20475 or a URL."`
	RunsOn      *RunsOn   `json:"runsOn" doc:"The backends that can run it; all of them if not given."`
	Mistakes    []string  `json:"mistakes" doc:"Kinds of mistakes that are its point, as chainwalk check prints them in brackets."`
	Topology    Topology  `json:"topology" doc:"Nodes, pods and machines outside of the cluster; two nodes if not given."`
	KubeProxy   KubeProxy `json:"kubeProxy" doc:"Fields of a KubeProxyConfiguration (v1alpha1) for every node."`
	IPTables    IPTables  `json:"iptables" doc:"The iptables tools and the rules that are there before kube-proxy."`
	Objects     Objects   `json:"objects" doc:"Kubernetes objects that exist when kube-proxy starts."`
	During      []During  `json:"during" doc:"What is looked at within the first sync."`
	Steps       []Step    `json:"steps" required:"true" doc:"What happens, one after the other."`

	cluster    *Cluster // what the file is resolved into, if it was read with the controller that it needs; every run has a copy of its own
	controller manifest.NewSliceController
}

// WithSteps is the scenario with other steps.
func (s *Scenario) WithSteps(steps []Step) *Scenario {
	out := *s
	out.Steps = steps
	return &out
}

// WithoutLooks is the scenario without the steps that change nothing.
func (s *Scenario) WithoutLooks() *Scenario {
	return s.WithSteps(slices.DeleteFunc(slices.Clone(s.Steps), func(s Step) bool { return s.Looks() }))
}

// The names of the backends that a scenario may be held to.
const (
	BackendSim   = "sim"
	BackendNetns = "netns"
	BackendKind  = "kind"
)

// RunsOn limits a scenario to some backends, and says why.
type RunsOn struct {
	Backends []string `json:"backends" required:"true" doc:"Some of sim, netns, kind."`
	Because  string   `json:"because" required:"true" doc:"Why the others cannot run it."`
}

// Checks reports whether any step checks something.
func (s *Scenario) Checks() bool {
	return len(s.During) > 0 || slices.ContainsFunc(s.Steps, func(step Step) bool {
		return step.SyncError != "" || len(step.During) > 0 || slices.Contains(checkingActions(), step.action().name)
	})
}

// Files are the files of objects that the scenario includes, each once, sorted.
func (s *Scenario) Files() []string {
	var out []string
	for _, o := range s.ever() {
		if o.Pos.File != s.Pos.File {
			out = append(out, o.Pos.File)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// start is what happens before the steps, as if it were one: every node syncs for the first time.
func (s *Scenario) start() *Step {
	return &Step{Located: s.Located, Sync: &NodeSet{All: true}, During: s.During}
}

// allows reports whether the named backend can run the scenario.
func (s *Scenario) allows(backend string) bool {
	if s.RunsOn == nil {
		return true
	}
	return slices.Contains(s.RunsOn.Backends, backend)
}

// DialectRef names a dialect of iptables: legacy, nft, or OtherDialect; empty is the one that kube-proxy has in the run.
type DialectRef string

// OtherDialect is the one that kube-proxy does not have in the run: nft beside legacy, legacy beside nft.
const OtherDialect DialectRef = "other"

// In is the dialect that is meant in a run with a dialect.
func (o DialectRef) In(run netfilter.Dialect) netfilter.Dialect {
	switch o {
	case "":
		return run
	case OtherDialect:
		return run.Other()
	}
	return netfilter.Dialect(o)
}

// dialectsNamed are the dialects that rules on nodes are written with beside those of kube-proxy.
func (s *Scenario) dialectsNamed() (named []DialectRef) {
	for i := range s.IPTables.Preload {
		named = append(named, s.IPTables.Preload[i].Dialect)
	}
	for i := range s.Steps {
		if f := s.Steps[i].Fault; f != nil {
			named = append(append(named, f.Dialect), f.dialectsRun()...)
		}
	}
	return named
}

// IPTables says which tools a node has, and what they already hold.
type IPTables struct {
	Dialects []netfilter.Dialect `json:"tools" doc:"The scenario runs once with each: legacy, nft. Both if not given."`
	Preload  []Preload           `json:"preload" doc:"Rules that are there before kube-proxy starts."`
}

// Preload are rules that are on nodes before kube-proxy starts.
type Preload struct {
	document.Located
	Nodes   []string   `json:"nodes" doc:"The nodes that have them; all if not given."`
	Family  IPFamily   `json:"family" enum:"ipv4 ipv6" doc:"ipv4 (if not given) or ipv6."`
	Dialect DialectRef `json:"tool" enum:"legacy nft other" doc:"The iptables tools that they are restored with: legacy, nft, or other: the variant that kube-proxy does not use in the run. Kube-proxy's variant if not given. A packet meets the rules of both."`
	Save    string     `json:"save" doc:"The rules as iptables-save prints them. Give these or nft."`
	NFT     string     `json:"nft" doc:"Rules for nft -f, such as nft list ruleset prints them. They name their families themselves."`
}

// IsFor reports whether a node has the rules.
func (p *Preload) IsFor(node string) bool {
	return len(p.Nodes) == 0 || slices.Contains(p.Nodes, node)
}
