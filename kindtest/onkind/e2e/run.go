package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/internal/overlay"
	"github.com/chainwalk/chainwalk/kindtest/onkind/traffic"
	"github.com/chainwalk/chainwalk/scenarios"
)

// shipped is the folder of the shipped scenarios in this module.
const shipped = "scenarios/testdata"

// cleanupTime is how long taking a cluster down may take, and how long keeping what it was like, also after an interrupt.
const cleanupTime = 2 * time.Minute

// look is one run, from the build to the report.
func (o *options) look(ctx context.Context, files []string, out io.Writer) (held bool, err error) {
	if o.fault != "" {
		if o.fault, err = faultOf(o.fault); err != nil {
			return false, err
		}
	}
	all, err := load(files)
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(o.folder, 0o755); err != nil {
		return false, err
	}
	r := &run{options: o, out: &lines{out: out}, began: time.Now(), all: len(files) == 0}
	r.report = report{Version: reportVersion, Proxy: o.proxy, Mode: o.mode, Tool: o.tool, Family: o.family, Fault: o.fault}
	if err := r.start(ctx); err != nil {
		return false, err
	}
	held, err = r.judge(ctx, all)
	return held, errors.Join(err, r.end(ctx, held && err == nil))
}

// load reads the scenario files, or all shipped ones. Reports have their paths as seen from the working directory, wherever the module is.
func load(files []string) ([]*scenarios.Scenario, error) {
	if len(files) == 0 {
		root, err := overlay.Root()
		if err != nil {
			return nil, err
		}
		files = []string{filepath.Join(root, shipped)}
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, file := range files {
		if relative, err := filepath.Rel(here, file); err == nil && filepath.IsAbs(file) && filepath.IsLocal(relative) {
			file = relative
		}
		paths = append(paths, file)
	}
	return scenarios.Load(paths...)
}

// run is one run.
type run struct {
	*options
	out     io.Writer
	began   time.Time
	all     bool     // all shipped files are run
	benches []*bench // the first one has the nodes for every scenario
	report  report
}

// start builds what the nodes run and makes the clusters.
func (r *run) start(ctx context.Context) error {
	r.say("building the static binary")
	own, proxy, err := r.binaries(ctx)
	if err != nil {
		return err
	}
	configs, err := r.clusters(own, proxy)
	if err != nil {
		return err
	}
	return r.open(ctx, configs)
}

// judge runs the scenarios and the changes, and writes the report.
func (r *run) judge(ctx context.Context, all []*scenarios.Scenario) (held bool, err error) {
	if r.only != partChanges {
		r.scenarios(ctx, all)
	}
	if r.only != partScenarios && ctx.Err() == nil {
		if err := r.changes(ctx); err != nil {
			return false, err
		}
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	r.report.Seconds = time.Since(r.began).Seconds()
	for _, b := range r.benches {
		r.report.FalseAlarm += b.backend.FalseAlarm()
	}
	path, err := r.report.writeFiles(r.folder, r.name())
	if err != nil {
		return false, err
	}
	r.report.writeSummary(r.out)
	r.say("report: %s", path)
	t := r.report.Totals
	if r.all && r.only != partChanges && !t.enough() {
		r.say("too few scenarios ran: %d of %d that mode %s can run, want %d of 100", t.Ran, t.ofMode(), r.mode, leastShare)
		return false, nil
	}
	return t.Failed == 0 && t.Changes == t.ChangesHeld, nil
}

// scenarios runs all of them.
func (r *run) scenarios(ctx context.Context, all []*scenarios.Scenario) {
	var places []place
	for _, b := range r.benches {
		places = append(places, place{len(b.cluster.Nodes()), func(s *scenarios.Scenario) *scenarioRow { return r.lookAt(ctx, b, s) }})
	}
	r.report.Scenarios = rowsOf(all, places)
}

// modes are the modes to run scenarios in, for what they expect there: none, which is the one that they name, of proxies in a mode that is
// none of theirs.
func (r *run) modes() []scenarios.Mode {
	if r.unpredicted() != "" {
		return nil
	}
	return []scenarios.Mode{scenarios.Mode(r.mode)}
}

// lookAt runs a scenario; nil if it has come to no end.
func (r *run) lookAt(ctx context.Context, b *bench, s *scenarios.Scenario) *scenarioRow {
	if ctx.Err() != nil {
		return nil
	}
	began := time.Now()
	result := scenarios.RunIn(ctx, s, b.backend, r.modes()...)
	if ctx.Err() != nil {
		return nil
	}
	var sound *scenarios.Result
	if result.Failed() && r.mode == "iptables" { // rules of nftables are not told apart
		sound = scenarios.Run(ctx, s, soundBackend{})
	}
	row := rowOf(result, sound, r.mode, clausesOf(s))
	row.OfOtherMode = result.Skipped != "" && b.kind.OfOtherMode(s)
	var told bytes.Buffer
	tell(&told, result, &row, time.Since(began))
	_, _ = r.out.Write(told.Bytes())
	return &row
}

// tell prints what came of a scenario: a line, and of what failed the three columns, the packet's way and the rules that make the
// difference.
func tell(out io.Writer, result *scenarios.Result, row *scenarioRow, took time.Duration) {
	say := func(format string, values ...any) { fmt.Fprintf(out, format+"\n", values...) }
	if row.Result == resultNotRun {
		return
	}
	say("%-6s %s (%s, %d probes, %.1f s)", row.Result, row.Name, row.File, len(row.Probes), took.Seconds())
	if row.Result == resultHeld {
		return
	}
	if row.Result == resultDiffers {
		row.tellAllowed(say)
		return
	}
	if err := scenarios.WriteText(out, []*scenarios.Result{result}, scenarios.WaysFailed); err != nil {
		say("%v", err)
	}
	for i := range row.Probes {
		for _, rule := range row.Probes[i].Rules {
			say("  %s: %s", row.Probes[i].Name, rule)
		}
	}
}

// tellAllowed prints what allows a scenario to differ.
func (s *scenarioRow) tellAllowed(say func(format string, values ...any)) {
	for i := range s.Probes {
		if p := &s.Probes[i]; p.Allowed != nil {
			say("  %s: %s, allowed: %s", p.Name, strings.Join(p.Outcomes, "; "), p.Allowed)
		}
	}
	for i := range s.Others {
		if o := &s.Others[i]; o.Allowed != nil {
			say("  %s: %s, allowed: %s", o.Name, o.Wrong, o.Allowed)
		}
	}
}

// changes runs what changes under traffic, on nodes with labels of their own, with proxies as they are at first.
func (r *run) changes(ctx context.Context) error {
	first := r.benches[0]
	if err := first.kind.Rest(ctx); err != nil {
		return err
	}
	if err := first.cluster.ResetProxies(ctx); err != nil {
		return err
	}
	for _, change := range traffic.Changes() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		row := changeRow{Name: change.Name, Result: resultHeld}
		told, err := change.Run(ctx, traffic.Bench{Cluster: first.cluster, Machine: first.machines.Machine, Mode: r.mode})
		row.Told = told
		if err != nil {
			row.Result, row.Told = resultFailed, err.Error()
		}
		r.report.Changes = append(r.report.Changes, row)
		r.say("%-6s under traffic: %s: %s", row.Result, row.Name, row.Told)
	}
	return nil
}

// end keeps what the nodes are like if something failed, and takes the clusters down, the first one last: with it goes the network that
// all are on.
func (r *run) end(ctx context.Context, held bool) error {
	var errs []error
	for i, b := range slices.Backward(r.benches) {
		if b != nil {
			errs = append(errs, r.endOne(ctx, held, i, b))
		}
	}
	return errors.Join(errs...)
}

// running is a cluster that has to be taken down.
type running interface {
	// export writes to a folder what the nodes are like.
	export(ctx context.Context, folder string) error
	close(ctx context.Context) error
}

// endOne ends the cluster of a number. To keep what it is like has time of its own, and so has taking it down. What could not be kept is
// said and changes nothing else: the status says what the run has found, and a node that does not answer is often a part of that.
func (r *run) endOne(ctx context.Context, held bool, number int, c running) error {
	if !held && ctx.Err() == nil {
		folder := r.artifacts(number)
		err := errors.Join(os.RemoveAll(folder), cleanUp(ctx, func(ctx context.Context) error { return c.export(ctx, folder) }))
		r.say("what the nodes are like: %s", folder)
		if err != nil {
			r.say("not all of it: %s", strings.ReplaceAll(err.Error(), "\n", "\n  "))
		}
	}
	return cleanUp(ctx, c.close)
}

// cleanUp does something that is to be done also after an interrupt, and may take a while.
func cleanUp(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	return do(ctx)
}

func (r *run) say(format string, values ...any) { fmt.Fprintf(r.out, format+"\n", values...) }
