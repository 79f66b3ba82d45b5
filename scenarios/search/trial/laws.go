package trial

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/twin"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
)

// fullSyncs has proxiers that write everything in every sync.
func fullSyncs(o Options) Options {
	begin := o.Proxier
	if begin == nil {
		begin = node.Chainwalk
	}
	o.Proxier = func(p node.Process) (node.Proxy, []string, error) {
		proxy, warnings, err := begin(p)
		if all, ok := proxy.(interface{ SyncAll() error }); ok && err == nil {
			full := &fully{proxy, all.SyncAll}
			if told, is := proxy.(config.ServiceCIDRHandler); is {
				return &fullyTold{full, told}, warnings, nil
			}
			return full, warnings, nil
		}
		return proxy, warnings, err
	}
	return o
}

// fully is a proxier whose every sync is a full one.
type fully struct {
	node.Proxy
	all func() error
}

// fullyTold is one that is told of ServiceCIDRs.
type fullyTold struct {
	*fully
	config.ServiceCIDRHandler
}

// Sync writes everything.
func (f *fully) Sync() error { return f.all() }

// Hold tries a case and its twin by a law, and compares what packets meet in the end. What it finds
// is different between the two; whether the case itself is right is for Run to say.
func Hold(ctx context.Context, l *twin.Law, s *scenarios.Scenario, o Options) (*Report, error) {
	if l.Of(s.WithoutLooks()) == nil {
		return &Report{}, nil
	}
	first, err := playOriginal(ctx, s, o)
	if err != nil {
		return nil, err
	}
	return first.hold(ctx, l)
}

// original is a case that was played, which its twin by any law is compared with.
type original struct {
	scenario *scenarios.Scenario
	options  Options
	report   *Report
}

func playOriginal(ctx context.Context, s *scenarios.Scenario, o Options) (*original, error) {
	if o.Dialect == "" {
		o.Dialect = dialectOf(s, o)
	}
	s = s.WithoutLooks()
	report, err := quietly(ctx, s, o)
	return &original{s, o, report}, err
}

// hold tries the twin by a law, and compares. A case without one by the law is not tried.
func (c *original) hold(ctx context.Context, l *twin.Law) (*Report, error) {
	s, o, one := c.scenario, c.options, c.report
	second := l.Of(s)
	if second == nil {
		return &Report{}, nil
	}
	if l.FullSyncs {
		o = fullSyncs(o)
	}
	if l.OwnDialect {
		o.Dialect = ""
	}
	other, err := quietly(ctx, second, o)
	if err != nil {
		return nil, fmt.Errorf("law %s: %w", l.Name, err)
	}
	report := &Report{Violations: slices.Concat(one.Violations, other.Violations)}
	report.Figures.Merge(&one.Figures)
	report.Figures.Merge(&other.Figures)
	report.Figures.Merge(&Figures{Clauses: map[string]int{l.Clause.Name: 1}})
	for i := range report.Violations {
		report.Violations[i].twin = s
		if i >= len(one.Violations) {
			report.Violations[i].twin = second
		}
	}
	if len(report.Violations) > 0 {
		return report, nil
	}
	if f := compare(l, wordsOf(l, s), one.met, other.met); f != nil {
		f.twin, f.Step, f.mending = second, len(second.Steps), other.mending
		if f.ofCase {
			f.twin, f.Step, f.mending = s, len(s.Steps), one.mending
		}
		report.Violations = append(report.Violations, *f)
	}
	return report, nil
}

// quietly plays a scenario without judging it.
func quietly(ctx context.Context, s *scenarios.Scenario, o Options) (*Report, error) {
	p, err := playOf(s, o)
	if err != nil {
		return nil, err
	}
	p.quiet, p.options.Until = true, 0
	return p.run(ctx)
}

// met is what became of an attempt in the end, with its ways in order.
type met struct {
	attempt oracle.Attempt
	ways    []oracle.Way
	// check looks whether it is what the specification allows, wrong says that it is not, and open that it allows several things.
	check       []scenarios.Step
	wrong, open bool
}

// meet notes what all attempts meet.
func (m *moment) meet() error {
	for _, a := range m.after.Attempts() {
		a = anew(a)
		ways, err := m.r.world.Reach(a)
		if err != nil {
			return err
		}
		m.r.report.Figures.Connections++
		if err := m.r.spend(len(ways)); err != nil {
			return err
		}
		answer := m.after.Expect(a)
		m.r.report.met = append(m.r.report.met, met{
			attempt: a, ways: outcomes(ways), check: checksOf(a, &answer), wrong: len(m.after.Judge(a, ways)) > 0,
			open: answer.Open || answer.Loose || len(answer.Others) > 0,
		})
	}
	m.r.report.mending = m.r.mending
	return nil
}

// outcomes are ways without what is chosen at random, each once, in order.
func outcomes(ways []oracle.Way) []oracle.Way {
	var out []oracle.Way
	for _, w := range ways {
		w.Sender = netip.AddrPort{}
		w.Client = netip.AddrPortFrom(w.Client.Addr(), 0)
		w.With = strings.Replace(w.With, "icmp6-", "icmp-", 1)
		if same := slices.IndexFunc(out, func(o oracle.Way) bool { return compareWays(o, w) == 0 }); same >= 0 {
			out[same].Probability += w.Probability
			continue
		}
		out = append(out, w)
	}
	slices.SortFunc(out, compareWays)
	return out
}

// compareWays compares all but the chances.
func compareWays(a, b oracle.Way) int {
	return cmp.Or(
		cmp.Compare(a.End, b.End), cmp.Compare(a.Host, b.Host), a.Server.Compare(b.Server), a.Client.Compare(b.Client),
		cmp.Compare(a.With, b.With), compareBools(a.Heard, b.Heard), compareBools(a.Masqueraded, b.Masqueraded),
	)
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// compare finds the first attempt that meets something else in the twin, nil if none does.
func compare(l *twin.Law, w words, one, other []met) *Violation {
	there := make(map[oracle.Attempt]*met, len(other))
	for i := range other {
		there[other[i].attempt] = &other[i]
	}
	for i := range one {
		here := &one[i]
		got := there[w.attempt(here.attempt)]
		if got == nil || l.Addr != nil && here.attempt.To.Addr().IsLoopback() || l.Chooses && here.open {
			continue // the twin has no such packet class; the families differ about localhost
		}
		want := w.ways(here.ways)
		if slices.EqualFunc(want, got.ways, sameOutcome) {
			continue
		}
		f := &Violation{Clause: l.Clause, attempt: got.attempt, Want: "as in the case itself: " + waysText(want),
			Got: l.Name + ": " + waysText(got.ways)}
		if f.Check = got.check; here.wrong {
			f.attempt, f.Check, f.ofCase = here.attempt, here.check, true
		}
		return f
	}
	return nil
}

// chanceError is how exactly chances are the same: those of rules are multiples of 2^-31.
const chanceError = 1e-6

func sameOutcome(a, b oracle.Way) bool {
	return compareWays(a, b) == 0 && math.Abs(a.Probability-b.Probability) < chanceError
}

// words are what a twin calls nodes and addresses.
type words struct {
	addr  func(netip.Addr) netip.Addr // nil: as the case does
	nodes map[string]string
}

func wordsOf(l *twin.Law, s *scenarios.Scenario) words {
	w := words{addr: l.Addr}
	if l.Nodes != nil {
		w.nodes = l.Nodes(s)
	}
	return w
}

func (w *words) attempt(a oracle.Attempt) oracle.Attempt {
	a.From, a.Via, a.To, a.Source = w.host(a.From), w.host(a.Via), w.addrPort(a.To), w.addrPort(a.Source)
	return a
}

// host is the twin's name of a host: those that a scenario does not name are called by their address.
func (w *words) host(name string) string {
	if other, ok := w.nodes[name]; ok {
		return other
	}
	if a, err := netip.ParseAddr(name); err == nil && w.addr != nil {
		return w.addr(a).String()
	}
	return name
}

func (w *words) addrPort(a netip.AddrPort) netip.AddrPort {
	if w.addr == nil {
		return a
	}
	return netip.AddrPortFrom(w.addr(a.Addr()), a.Port())
}

func (w *words) ways(ways []oracle.Way) []oracle.Way {
	out := slices.Clone(ways)
	for i := range out {
		out[i].Host, out[i].Server, out[i].Client = w.host(out[i].Host), w.addrPort(out[i].Server), w.addrPort(out[i].Client)
	}
	slices.SortFunc(out, compareWays)
	return out
}

func waysText(ways []oracle.Way) string {
	var out []string
	for _, w := range ways {
		text := fmt.Sprintf("%s at %s as %s from %s", w.End, w.Host, w.Server, w.Client.Addr())
		if len(ways) > 1 {
			text = fmt.Sprintf("%.4g: %s", w.Probability, text)
		}
		if !w.Heard {
			text += ", not heard"
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}
