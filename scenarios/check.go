package scenarios

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/internal/document"
)

// checker finds in a scenario what its types alone cannot refuse: names of
// things that are not there, and fields that say nothing together.
type checker struct {
	scenario *Scenario
	cluster  *Cluster
	kept     []string // the connections kept so far
	errs     document.Errors
}

func (c *checker) errorf(pos document.Position, format string, args ...any) {
	c.errs = append(c.errs, &document.Error{Position: pos, Msg: fmt.Sprintf(format, args...)})
}

func (c *checker) run() {
	s := c.scenario
	c.cluster, c.errs = resolve(s)
	s.cluster = c.cluster
	c.header()
	if len(s.Steps) == 0 {
		c.errorf(s.Pos, "steps: there is none, so nothing is checked")
	}
	for i := range s.Steps {
		c.step(&s.Steps[i])
	}
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
	for _, tool := range s.IPTables.Tools {
		c.word(s.Pos, "iptables.tools", string(tool), string(ToolLegacy), string(ToolNFT))
	}
	for _, p := range s.IPTables.Preload {
		c.nodes(p.Pos, p.Nodes)
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
	switch actions := s.actions(); {
	case len(actions) > 1:
		c.errorf(s.Pos, "a step does one thing, not %s (write one step for each)", strings.Join(actions, " and "))
		return
	case len(actions) == 0 && s.Sync == nil:
		c.errorf(s.Pos, "the step does nothing (want one of apply, delete, node, advance, restart, connect, cases, flow, send, rules, health, fault, sync)")
		return
	}
	for _, set := range []*NodeSet{s.Sync, s.Restart} {
		if set != nil {
			c.nodes(set.Pos, set.Names)
		}
	}
	if s.SyncError != "" && len(s.syncs(c.cluster)) == 0 {
		c.errorf(s.Pos, "syncError says nothing, since no node syncs after the step")
	}
	if s.Configure != nil && s.Restart == nil {
		c.errorf(s.Pos, "kubeProxy says nothing in a step without restart")
	}
	c.action(s)
}

func (c *checker) action(s *Step) {
	switch s.Action() {
	case "advance":
		if s.Advance.Duration <= 0 {
			c.errorf(s.Pos, "advance: want more than 0s")
		}
	case "node":
		c.nodes(s.Node.Pos, []string{s.Node.Name})
	case "connect":
		c.connect(s.Connect)
	case "cases":
		for i := range s.Cases {
			if s.Cases[i].As != "" {
				c.errorf(s.Cases[i].Pos, "as: the connections of a table leave nothing behind (write a connect step of its own)")
			}
			c.connect(&s.Cases[i])
		}
	case "flow":
		c.flow(s.Flow)
	case "send":
		c.send(s.Send)
	case "rules":
		c.rules(s.Rules)
	case "health":
		c.nodes(s.Health.Pos, s.Health.Nodes)
	case "fault":
		c.fault(s.Fault)
	}
}

func (c *checker) connect(f *Connect) {
	c.client(f)
	if to := f.To.Addr(); !c.cluster.IPFamily.Has(to) {
		c.errorf(f.Pos, "to: %s is not of the cluster's family %s", to, c.cluster.IPFamily)
	}
	if f.Bind.Addr.IsValid() && f.Bind.Addr.Is6() != f.To.Addr().Is6() {
		c.errorf(f.Pos, "bind: %s and the destination %s are of different families", f.Bind.Addr, f.To.Addr())
	}
	if f.Via != "" {
		c.nodes(f.Pos, []string{f.Via})
	}
	if f.Pick.IsValid() && f.As == "" {
		c.errorf(f.Pos, "pick says nothing without as")
	}
	c.expect(&f.Expect, ofConnection)
	if f.As != "" {
		if slices.Contains(c.kept, f.As) {
			c.errorf(f.Pos, "as: the name %q is taken", f.As)
		}
		c.kept = append(c.kept, f.As)
	}
}

// client checks that the client is there and has an address of the family.
func (c *checker) client(f *Connect) {
	if a, err := netip.ParseAddr(f.From); err == nil {
		if c.cluster.Owner(a) == "" {
			c.errorf(f.Pos, "from: %s is not of the cluster's family %s", a, c.cluster.IPFamily)
		}
		if f.Bind.Addr.IsValid() {
			c.errorf(f.Pos, "from and bind both give the client's address (want bind: \":PORT\", or a name in from)")
		}
		if a.Is6() != f.To.Addr().Is6() {
			c.errorf(f.Pos, "from: %s and the destination %s are of different families", a, f.To.Addr())
		}
		return
	}
	if !c.cluster.Has(f.From) {
		c.errorf(f.Pos, "from: there is no node, pod or machine %q (name it in the topology, or give an address)", f.From)
	}
}

// expect holds an expectation to the kinds that make sense where it is.
func (c *checker) expect(e *Expect, about subject) {
	for _, kind := range e.kinds() {
		if kind.of[about] == 0 {
			c.errorf(e.Pos, "%s says nothing about a %s (want one of %s)", kind.name, about, strings.Join(kindNames(kindsOf(about)), ", "))
		}
	}
	if e.Out != "" && about != ofSinglePacket {
		c.errorf(e.Pos, "out says nothing about a %s", about)
	}
	if e.SameAs != "" {
		c.keptBefore(e.Pos, "sameAs", e.SameAs)
	}
	for _, name := range []string{e.AnsweredBy, e.RefusedBy} {
		if name != "" && !c.cluster.Has(name) && name != RouterName {
			c.errorf(e.Pos, "there is no node, pod or machine %q", name)
		}
	}
}

func (c *checker) keptBefore(pos document.Position, field, name string) {
	if !slices.Contains(c.kept, name) {
		c.errorf(pos, "%s: no connection was kept as %q before%s", field, name, document.Suggest(name, c.kept))
	}
}

func (c *checker) flow(f *FlowPacket) {
	c.keptBefore(f.Pos, "of", f.Of)
	if f.From == SideServer {
		c.expect(&f.Expect, ofServerPacket)
	} else {
		c.expect(&f.Expect, ofClientPacket)
	}
	if f.Expect.Source.Masqueraded {
		c.errorf(f.Expect.Pos, "source: a later packet of a connection meets no MASQUERADE rule (want kept or the address that the server sees)")
	}
}

func (c *checker) send(s *Send) {
	c.nodes(s.Pos, []string{s.Node})
	c.expect(&s.Expect, ofSinglePacket)
	in := s.Packet.In
	if pod := c.cluster.Pod(in); pod != nil && pod.Node != s.Node {
		c.errorf(s.Pos, "packet: the pod %s is on %s, not on %s", in, pod.Node, s.Node)
	} else if pod == nil && in != "" && in != "eth0" && in != "lo" {
		c.errorf(s.Pos, "packet: %s has no device %q (want eth0, lo or a pod's name)", s.Node, in)
	}
}

func (c *checker) rules(r *RulesCheck) {
	c.nodes(r.Pos, r.Nodes)
	if len(r.Contains)+len(r.Absent)+len(r.Counters)+len(r.NFAcct)+len(r.Chains)+len(r.NoChains) == 0 {
		c.errorf(r.Pos, "rules: nothing is looked for (want contains, absent, counters, nfacct, chains or noChains)")
	}
	if r.Family != "" && c.cluster.IPFamily != FamilyDual && r.Family != c.cluster.IPFamily {
		c.errorf(r.Pos, "family: the cluster is %s only", c.cluster.IPFamily)
	}
}

func (c *checker) fault(f *Fault) {
	if f.Node != "" {
		c.nodes(f.Pos, []string{f.Node})
	}
	for _, table := range f.Flush {
		c.word(f.Pos, "flush", table, "raw", "mangle", "nat", "filter", "security")
	}
	if len(f.Flush)+len(f.Run)+f.RestoreFails == 0 || f.RestoreFails < 0 {
		c.errorf(f.Pos, "fault: nothing goes wrong (want flush, run or restoreFails)")
	}
}

// syncs are the nodes that sync after a step.
func (s *Step) syncs(cluster *Cluster) []string {
	switch {
	case s.Sync == nil && s.changes(), s.Sync != nil && s.Sync.All:
		return cluster.nodeNames()
	case s.Sync != nil:
		return s.Sync.Names
	}
	return nil
}
