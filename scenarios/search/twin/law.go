package twin

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// Law says of a case that something about it does not matter: what happened in another
// order, with restarts in between, with other tools, names or addresses, comes to the same.
type Law struct {
	// Name is how reports and the command line call it, such as "restarts".
	Name string
	// Clause is what it is an instance of.
	Clause *oracle.Clause
	// Of is the case that must come to the same; nil where the law says nothing of a case.
	Of func(*scenarios.Scenario) *scenarios.Scenario
	// FullSyncs has the twin's proxiers write everything in every sync.
	FullSyncs bool
	// OwnDialect has the twin tried with the variant of the tools that it names, and not with the one of the case.
	OwnDialect bool
	// Addr is the twin's address for one of the case; nil: the same.
	Addr func(netip.Addr) netip.Addr
	// Nodes are the twin's names of nodes by those of the case; nil: the same.
	Nodes func(*scenarios.Scenario) map[string]string
	// Chooses says that what the specification leaves open may depend on it, such as which of two objects that contradict each other holds.
	Chooses bool
}

// Laws are the metamorphic laws, in the order of reports.
func Laws() []*Law {
	return []*Law{
		{Name: "batched", Clause: oracle.OrderDoesNotMatter, Of: batched},
		{Name: "apart", Clause: oracle.OrderDoesNotMatter, Of: apart},
		{Name: "reordered", Clause: oracle.OrderDoesNotMatter, Of: reordered},
		{Name: "restarts", Clause: oracle.RestartEqualsFresh, Of: restarted},
		{Name: "full-syncs", Clause: oracle.PartialEqualsFull, Of: itself, FullSyncs: true},
		{Name: "tools", Clause: oracle.ToolsAlike, Of: otherTool, OwnDialect: true},
		{Name: "mirror", Clause: oracle.FamiliesAlike, Of: mirrored, Addr: mirrorOf},
		{Name: "names", Clause: oracle.NamesDoNotMatter, Of: renamed, Nodes: nodeNamesOf, Chooses: true},
	}
}

func itself(s *scenarios.Scenario) *scenarios.Scenario { return s }
