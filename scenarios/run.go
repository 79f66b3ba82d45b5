package scenarios

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/internal/logbook"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/explain/whynot"
)

// Run runs a scenario on a backend in the mode that it names, once with each of its iptables tools.
// Whatever goes wrong, even a panic, is a failed check of the result.
func Run(ctx context.Context, s *Scenario, b Backend) *Result { return RunIn(ctx, s, b) }

// RunIn is Run in some modes, one after the other; none: the one that the scenario names.
func RunIn(ctx context.Context, s *Scenario, b Backend, modes ...Mode) *Result {
	return run(ctx, s, b, standing{}, modes)
}

// standing is a clock that does not go, for runs whose time nobody asks for.
type standing struct{}

func (standing) Now() time.Time                { return time.Time{} }
func (standing) Since(time.Time) time.Duration { return 0 }

// run is Run, timed by a clock.
func run(ctx context.Context, s *Scenario, b Backend, clock clock.PassiveClock, modes []Mode) *Result {
	result := &Result{Name: s.Name, File: s.Pos.File, Backend: b.Name(), Checks: []Check{}, Started: clock.Now()}
	var log logbook.Book
	ctx = klog.NewContext(ctx, log.Logger())
	defer func() { result.Duration, result.Log = clock.Since(result.Started), log.Lines() }()
	cluster, errs := s.checked(b)
	if len(errs) > 0 {
		result.Checks = append(result.Checks, unread(s.Pos, errs))
		return result
	}
	plays, why := s.playsOn(b, cluster, modes)
	if why != "" {
		result.Skipped = why
		return result
	}
	for i, p := range plays {
		r := &runner{
			scenario: s, cluster: p.of(cluster), play: p, result: result, kept: map[string]keptConnection{}, unmade: map[string]bool{},
			clock: clock, since: clock.Now(),
		}
		r.run(ctx, b)
		if ctx.Err() == nil {
			continue
		}
		if i+1 < len(plays) && !result.Failed() {
			r.play = plays[i+1]
			r.fail(s.Pos, "go on with "+r.play.String(), r.because(ctx, nil).Error())
		}
		return result
	}
	if len(result.Checks) == 0 {
		result.Checks = append(result.Checks, Check{Position: s.Pos, At: s.Pos.String(), Name: "look for checks", Error: true,
			Wrong: fmt.Sprintf("no step checks anything (want at least one of %s, or syncError)", strings.Join(checkingActions(), ", "))})
	}
	return result
}

// unread is the check of a scenario that could not be read.
func unread(pos document.Position, why error) Check {
	return Check{Position: pos, At: pos.String(), Name: "read the scenario", Error: true, Wrong: why.Error()}
}

// playsOn are the runs of a scenario on a backend, or why it does not run there.
func (s *Scenario) playsOn(b Backend, c *Cluster, modes []Mode) (plays []play, why string) {
	dialects, why := s.dialectsOn(b)
	if why != "" {
		return nil, why
	}
	return s.plays(c, modes, dialects)
}

// toolsOn are the variants of the tools that a scenario runs with on a backend, or why it does not run there.
func (s *Scenario) dialectsOn(b Backend) (tools []netfilter.Dialect, why string) {
	if !s.allows(b.Name()) {
		return nil, fmt.Sprintf("runs on %s only: %s", strings.Join(s.RunsOn.Backends, ", "), s.RunsOn.Because)
	}
	tools = s.IPTables.Dialects
	if len(tools) == 0 {
		tools = []netfilter.Dialect{netfilter.Legacy, netfilter.NFT}
	}
	l, ok := b.(Limited)
	if !ok {
		return tools, ""
	}
	if why := l.Unsupported(s); why != "" {
		return nil, why
	}
	has := l.Dialects()
	common := slices.DeleteFunc(slices.Clone(tools), func(t netfilter.Dialect) bool { return !slices.Contains(has, t) })
	if len(common) == 0 {
		return nil, fmt.Sprintf("runs with the tools %s only, and the nodes have %s", dialectNames(tools), dialectNames(has))
	}
	return common, ""
}

func dialectNames(tools []netfilter.Dialect) string {
	return listOf(tools, func(t netfilter.Dialect) string { return string(t) })
}

// checked is the cluster of a scenario that was read, or of one that is checked now: made in Go, or read without the controller that
// it needs, which the backend has.
func (s *Scenario) checked(b Backend) (*Cluster, document.Errors) {
	if s.cluster != nil {
		return s.cluster, nil
	}
	controller := s.controller
	if with, ok := b.(ControlledBackend); ok && controller == nil {
		controller = with.SliceController
	}
	if controller == nil && s.needsController() {
		return nil, document.Errors{s.uncontrolled("the backend " + b.Name() + " has none")}
	}
	c := checker{scenario: s, controller: controller}
	return c.run(), c.errs
}

// runner runs a scenario once.
type runner struct {
	scenario *Scenario
	cluster  *Cluster
	session  Session
	play     play
	result   *Result
	step     int
	kept     map[string]keptConnection
	objects  apiObjects                // what the API holds now
	held     []string                  // the nodes that are not told of changes
	book     *names.Book               // of a run with a failed check
	why      func([]Way) whynot.Answer // of a state with a failed check; nil elsewhere
	specs    specs                     // of a state with a check that may differ as documented
	unmade   map[string]bool           // connections that the mode does not make, by the names that they were to be kept under
	nth      string                    // which of a step's connections is made, for a run that ends
	point    string                    // within a sync: when, for the names of checks
	clock    clock.PassiveClock
	since    time.Time // when the last check was made, or the run began
}

// keptConnection is what later steps say of a connection that was kept.
type keptConnection struct {
	called, endpoint netip.AddrPort
	attempt          *Attempt // by which it was made
}

// errStopped ends a run whose next steps would say nothing; why was noted.
var errStopped = errors.New("stopped")

func (r *runner) run(ctx context.Context, b Backend) {
	pos := r.scenario.Pos
	defer func() {
		if p := recover(); p != nil {
			r.fail(pos, "panic", fmt.Sprintf("%v\n%s", p, debug.Stack()))
		}
	}()
	r.objects.put(r.cluster.Objects)
	session, err := b.Start(ctx, r.cluster)
	if err != nil {
		r.fail(pos, "start the cluster", r.because(ctx, err).Error())
		return
	}
	r.session = session
	defer func() {
		if err := session.Close(); err != nil {
			r.fail(pos, "take the cluster down", err.Error())
		}
	}()
	failed, err := r.watched(ctx, r.scenario.start(), r.cluster.nodeNames())
	if err = errors.Join(failed, err); err != nil {
		r.fail(pos, "first sync", r.because(ctx, err).Error())
		return
	}
	for i := range r.scenario.Steps {
		pos, r.step = r.scenario.Steps[i].Pos, i+1
		if err := r.do(ctx, &r.scenario.Steps[i]); err != nil {
			return
		}
	}
}

// do makes one step. An error stops the run; it was noted as a failed check.
func (r *runner) do(ctx context.Context, s *Step) error {
	r.why, r.specs = nil, specs{}
	if why := r.play.unread(s); why != "" {
		r.add(s.Pos, Check{Name: s.describe(), Passed: true, Skipped: why, OfMode: []string{s.action().name}})
		return r.sync(ctx, s)
	}
	if why := r.unseen(s); why != "" {
		r.add(s.Pos, Check{Name: s.describe(), Passed: true, Skipped: why})
		return r.sync(ctx, s)
	}
	err := ctx.Err()
	if err == nil {
		err = r.notYet(ctx, s)
	}
	if err == nil {
		err = s.action().act(r, ctx, s)
	}
	if err != nil {
		r.fail(s.Pos, s.describe(), r.because(ctx, err).Error())
		return errStopped
	}
	return r.sync(ctx, s)
}

// unseen says why the session cannot look at what a step asks for.
func (r *runner) unseen(s *Step) string {
	session, ok := r.session.(BlindSession)
	if !ok {
		return ""
	}
	return session.Unseen(s)
}

// notYet tells a session whose proxies sync by themselves which of them are not to after a step.
func (r *runner) notYet(ctx context.Context, s *Step) error {
	session, ok := r.session.(PromptSession)
	if !ok || s.Apply == nil && s.Delete == nil && s.Node == nil {
		return nil
	}
	synced := s.syncs(r.cluster)
	late := slices.DeleteFunc(r.cluster.nodeNames(), func(name string) bool { return slices.Contains(synced, name) })
	if len(late) == 0 {
		return nil
	}
	return session.NotYet(ctx, late)
}

// because is why a run was ended, if it was, and what it was at: an error is only how it ended then.
func (r *runner) because(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	if r.step == 0 {
		return fmt.Errorf("%w; no step was made", context.Cause(ctx))
	}
	return fmt.Errorf("%w; it was in step %d of %d%s", context.Cause(ctx), r.step, len(r.scenario.Steps), r.nth)
}

func (r *runner) advance(ctx context.Context, s *Step) error {
	return r.session.Advance(ctx, s.Advance.Duration)
}

// orAll are the nodes given, or all of them.
func (r *runner) orAll(nodes []string) []string {
	if len(nodes) == 0 {
		return r.cluster.nodeNames()
	}
	return nodes
}

func (r *runner) restart(ctx context.Context, s *Step) error {
	nodes := s.Restart.of(r.cluster)
	for _, name := range nodes {
		if s.Configure != nil {
			r.cluster.Configure(name, s.Configure)
		}
	}
	return r.session.Restart(ctx, nodes)
}

func (r *runner) sync(ctx context.Context, s *Step) error {
	nodes := s.syncs(r.cluster)
	if len(nodes) == 0 {
		return nil
	}
	failed, err := r.watched(ctx, s, nodes)
	if err == nil {
		err = ctx.Err() // what failed may have been broken by that
	}
	if err == nil && s.SyncError == "" && !s.MayFail {
		err = failed
	}
	if err != nil {
		r.fail(s.Pos, "sync after "+s.describe(), r.because(ctx, err).Error())
		return errStopped
	}
	if s.SyncError == "" {
		return nil
	}
	check := Check{Name: "sync after " + s.describe(), Expected: fmt.Sprintf("an error with %q", s.SyncError), Got: "no error"}
	if failed != nil {
		check.Got = failed.Error()
	}
	check.Passed = failed != nil && strings.Contains(failed.Error(), s.SyncError)
	r.add(s.Pos, check)
	return nil
}

func (r *runner) judge(pos document.Position, name, packet string, j judge) {
	written := j.expect
	j.expect = written.in(r.cluster.Mode())
	j.texts = r.play.other() && j.expect == written
	j.nodes = func(a netip.Addr) bool { return r.cluster.nodeWith(a) != nil }
	check := Check{Name: name, Packet: packet, Expected: j.expect.String(), Got: describeWays(j.seen.Ways)}
	check.Wrong, check.faulty = j.verdict()
	check.difference = j.difference
	check.Passed, check.Ways, check.Rules = check.Wrong == "", j.seen.Ways, j.seen.Rules
	check.OfMode = j.unread
	check.foretold(&j)
	if !check.Passed && j.documented != nil && check.Predicted == "" {
		check.Documented = j.documented()
		check.Passed = check.Documented != nil
	}
	if !check.Passed && j.first {
		why := r.whyNot(j.seen.Ways)
		check.Unreached, check.Notes = why.Unreached, why.Notes
	}
	r.add(pos, check)
}

func (r *runner) fail(pos document.Position, name, wrong string) {
	r.add(pos, Check{Name: name, Error: true, Wrong: wrong})
}

func (r *runner) add(pos document.Position, c Check) {
	c.Position, c.At, c.Mode, c.Dialect, c.Step, c.Name = pos, pos.String(), r.play.mode.other(), r.play.tools(), r.step, r.point+c.Name
	c.Duration, r.since = r.clock.Since(r.since), r.clock.Now()
	r.name(&c)
	r.result.Checks = append(r.result.Checks, c)
}
