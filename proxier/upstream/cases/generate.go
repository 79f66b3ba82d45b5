package cases

import (
	"math/rand/v2"
	"slices"

	"github.com/chainwalk/chainwalk/scenarios/search/gen"
)

// unplayed are the features of scenarios that a case has nothing for: what is the matter of several nodes, of processes beside a proxier,
// and of tools that fail otherwise than in a restore.
var unplayed = gen.Of(
	gen.HostProcesses, gen.ExtraAddresses, gen.ForeignRules, gen.Leftovers, gen.DropPolicies,
	gen.NodeMoves, gen.PodsStop, gen.Restart, gen.Reconfigure, gen.ChainGone, gen.HalfApplied, gen.SaveFails, gen.ConntrackFails, gen.LockHeld,
	gen.SlowRestores, gen.LateEvents, gen.PartialSync,
)

// likely are features that a case gets with a chance of two in three each, so that a few cases have all of them together.
var likely = []gen.Feature{
	gen.SeveralNodes, gen.Zones, gen.DetectLocal, gen.MasqueradeBit, gen.NodePortAddresses,
	gen.SeveralPorts, gen.SCTP, gen.SourceRanges, gen.ProxyMode, gen.ExternalIPs, gen.ExternalLocal,
	gen.InternalLocal, gen.ExternalNames, gen.SeveralSlices, gen.NotReady, gen.Terminating, gen.ZoneHints, gen.NodeHints, gen.OddSpelling,
	gen.ChangeServices, gen.ChangeSlices, gen.NodeLabels, gen.Flush, gen.RestoreFails, gen.Time,
}

// overlapping are the features with which slices share an address, or a chain goes with a service that another one replaces.
var overlapping = gen.Of(gen.Duplicates, gen.Contested, gen.OddSlices, gen.SeveralSlices, gen.HostEndpoints)

// Generated makes the case of a number in mode iptables: a generated scenario as its first node sees it, with settings that only a case
// has. Cases of the same seed and number are equal.
func Generated(seed, number uint64) *Case { return GeneratedIn("", seed, number) }

// GeneratedIn makes the case of a number in a mode. In mode nftables nobody holds a chain of a service: tables of others cannot, and rules
// of others in kube-proxy's own table vanish.
func GeneratedIn(mode Mode, seed, number uint64) *Case {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, number))}
	large := g.in(4, 100)
	holds := !large && g.in(1, 4) && mode != NFTables
	o := gen.Options{
		With: gen.Of(gen.DualStack, gen.UDP, gen.NodePorts, gen.LoadBalancers), Without: unplayed,
		Services: 2 + g.IntN(4), Events: 8 + g.IntN(20), Exposed: true, HandOvers: !holds, OldObjects: true,
	}
	for _, f := range likely {
		if g.in(2, 3) {
			o.With |= gen.Of(f)
		}
	}
	switch {
	case large:
		o.With |= gen.Of(gen.ManyEndpoints)
	case holds:
		o.Without |= overlapping
	}
	if !large {
		o.Without |= gen.Of(gen.ManyEndpoints)
	}
	c := ofScenario(gen.Example(o, g.Uint64()))
	g.settings(&c.Settings)
	c.Settings.in(mode)
	g.bundle(c)
	if holds {
		g.hold(c)
	}
	return c
}

// generator chooses what only a case has.
type generator struct{ *rand.Rand }

// in is true in n of d cases.
func (g *generator) in(n, d int) bool { return g.IntN(d) < n }

func (g *generator) settings(s *Settings) {
	s.NoRandomFully, s.NodeAddressUnknown, s.NoHourlyFullSync = g.in(1, 8), g.in(1, 20), g.in(1, 2)
	s.Accounting = []string{"present", "present", "absent", "failing"}[g.IntN(4)]
	if g.in(1, 5) {
		s.TCPLiberal = nil
	}
}

// in has the settings be those of a mode: what they say of the tools of iptables, of accounting and of the kernel's settings, mode nftables
// does not look at.
func (s *Settings) in(mode Mode) {
	if mode == NFTables {
		s.Mode, s.LocalhostNodePorts, s.NoRandomFully, s.NoHourlyFullSync, s.Accounting, s.TCPLiberal = mode, false, false, false, "absent", nil
	}
}

// bundle leaves syncs out between the first and the last, so that the next one takes several changes.
func (g *generator) bundle(c *Case) {
	first := slices.IndexFunc(c.Steps, func(s Step) bool { return s.Do == Sync })
	var steps []Step
	for i := range c.Steps {
		if s := &c.Steps[i]; s.Do != Sync || i == first || i == len(c.Steps)-1 || g.in(1, 5) {
			steps = append(steps, *s)
		}
	}
	c.Steps = steps
}

// hold has somebody else hold a chain after some syncs, and release it after others.
func (g *generator) hold(c *Case) {
	var steps []Step
	now, next := Release, Hold
	for i := range c.Steps {
		steps = append(steps, c.Steps[i])
		if c.Steps[i].Do == Sync && g.in(1, 3) {
			now, next = next, now
			steps = append(steps, Step{Do: now})
		}
	}
	c.Steps = steps
}
