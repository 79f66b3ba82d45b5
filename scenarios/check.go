package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// checker finds in a scenario what its types alone cannot refuse: names of
// things that are not there, and fields that say nothing together.
type checker struct {
	scenario   *Scenario
	controller manifest.NewSliceController // nil: slices of pods are left out
	cluster    *Cluster
	kept       []string // the connections kept so far
	held       []string // the nodes that are held
	errs       document.Errors
}

func (c *checker) errorf(pos document.Position, format string, args ...any) {
	c.errs = append(c.errs, &document.Error{Position: pos, Msg: fmt.Sprintf(format, args...)})
}

// run checks the scenario and returns what it is resolved into.
func (c *checker) run() *Cluster {
	s := c.scenario
	cluster, errs := resolve(s, c.controller)
	c.cluster, c.errs = cluster.With(""), errs // steps change it
	c.header()
	if len(s.Steps) == 0 {
		c.errorf(s.Pos, "steps: there is none, so nothing is checked")
	}
	c.during(s.start())
	for i := range s.Steps {
		c.step(&s.Steps[i])
	}
	return cluster
}

func (c *checker) header() {
	s := c.scenario
	if s.Name == "" {
		c.errorf(s.Pos, "name: must not be empty")
	}
	if s.RunsOn != nil {
		for _, b := range s.RunsOn.Backends {
			c.word(s.Pos, "runsOn", b, BackendSim, BackendNetns, BackendKind)
		}
	}
	for _, tool := range s.IPTables.Dialects {
		c.word(s.Pos, "iptables.tools", string(tool), string(netfilter.Legacy), string(netfilter.NFT))
	}
	for _, p := range s.IPTables.Preload {
		c.nodes(p.Pos, p.Nodes)
		if (p.Save == "") == (p.NFT == "") {
			c.errorf(p.Pos, "preload: want rules in either save or nft")
		}
		if p.NFT != "" && (p.Family != "" || p.Dialect != "") {
			c.errorf(p.Pos, "preload: family and tool say nothing of nft, whose rules name their families themselves")
		}
	}
}

func (c *checker) word(pos document.Position, field, got string, known ...string) {
	if !slices.Contains(known, got) {
		c.errorf(pos, "%s: unknown word %q%s", field, got, document.Suggest(got, known))
	}
}

func (c *checker) nodes(pos document.Position, names []string) {
	for _, name := range names {
		if c.cluster.Node(name) == nil {
			c.errorf(pos, "there is no node %q%s", name, document.Suggest(name, c.cluster.nodeNames()))
		}
	}
}

func (c *checker) step(s *Step) {
	switch given := s.actions(); {
	case len(given) > 1:
		c.errorf(s.Pos, "a step does one thing, not %s (write one step for each)", strings.Join(actionNames(given), " and "))
		return
	case len(given) == 0 && s.Sync == nil:
		c.errorf(s.Pos, "the step does nothing (want one of %s, %s)", strings.Join(actionNames(actions()), ", "), onlySync)
		return
	}
	for _, set := range []*NodeSet{s.Sync, s.Restart} {
		if set != nil {
			c.nodes(set.Pos, set.Names)
		}
	}
	if syncs := len(s.syncs(c.cluster)) > 0; !syncs && s.SyncError != "" {
		c.errorf(s.Pos, "syncError says nothing, since no node syncs after the step")
	} else if !syncs && s.MayFail {
		c.errorf(s.Pos, "syncMayFail says nothing, since no node syncs after the step")
	}
	if s.MayFail && s.SyncError != "" {
		c.errorf(s.Pos, "syncError and syncMayFail exclude each other (want one of them)")
	}
	if s.Configure != nil && s.Restart == nil {
		c.errorf(s.Pos, "kubeProxy says nothing in a step without restart")
	}
	if check := s.action().check; check != nil {
		check(c, s)
	}
	c.during(s)
}

func (c *checker) advance(s *Step) {
	if s.Advance.Duration <= 0 {
		c.errorf(s.Pos, "advance: want more than 0s")
	}
}

// expect holds an expectation to the kinds that make sense where it is.
func (c *checker) expect(e *Expect, about subject) {
	for _, kind := range e.kinds() {
		if kind.of[about] == 0 {
			c.errorf(e.Pos, "%s says nothing about a %s (want one of %s)", kind.name, about, strings.Join(kindNames(kindsOf(about)), ", "))
		}
	}
	for i := range e.AnyOf {
		c.expect(&e.AnyOf[i], about)
	}
	if e.NFTables != nil {
		c.expect(e.NFTables, about)
	}
	if e.Out != "" && about != ofSinglePacket {
		c.errorf(e.Pos, "out says nothing about a %s", about)
	}
	if e.SameAs != "" {
		c.keptBefore(e.Pos, "sameAs", e.SameAs)
	}
	for _, name := range []string{e.AnsweredBy, e.RefusedBy} {
		if name != "" && !c.cluster.has(name) && name != RouterName {
			c.errorf(e.Pos, "there is no node, pod or machine %q", name)
		}
	}
}

func (c *checker) keptBefore(pos document.Position, field, name string) {
	if !slices.Contains(c.kept, name) {
		c.errorf(pos, "%s: no connection was kept as %q before%s", field, name, document.Suggest(name, c.kept))
	}
}
