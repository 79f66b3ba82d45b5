package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/internal/overlay"
	"github.com/chainwalk/chainwalk/kindtest/cluster"
	"github.com/chainwalk/chainwalk/kindtest/foretell"
	"github.com/chainwalk/chainwalk/kindtest/kind"
	"github.com/chainwalk/chainwalk/kindtest/traffic"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
)

// shipped is the folder of the shipped scenarios in this module.
const shipped = "scenarios/testdata"

// cleanupTime is how long taking the cluster down and keeping what it was like may take, also after an interrupt.
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
	r := &run{options: o, out: out, began: time.Now(), all: len(files) == 0}
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
	out      io.Writer
	began    time.Time
	all      bool // all shipped files are run
	cluster  *cluster.Cluster
	machines machines
	kind     *kind.Backend
	backend  *foretell.Backend
	report   report
}

// start builds what the nodes run and makes the cluster.
func (r *run) start(ctx context.Context) error {
	r.say("building the static binary")
	own, proxy, err := r.binaries(ctx)
	if err != nil {
		return err
	}
	r.cluster, err = cluster.Start(ctx, cluster.Config{
		Name: r.options.cluster, Existing: r.options.cluster != "", Keep: r.keep, Image: r.image, Family: scenarios.IPFamily(r.family),
		Workers: r.workers, Dialect: netfilter.Dialect(r.tool), Binary: own, Progress: r.out, Artifacts: r.artifacts(),
		Proxy: cluster.Proxy{Name: r.proxy, Mode: r.mode, Binary: proxy},
	})
	if err != nil {
		return err
	}
	r.report.Image = r.cluster.Image()
	if r.cluster.Foreign() != nil {
		r.proxy, r.report.Proxy = cluster.KubeProxy, cluster.KubeProxy // the cluster's own, of its own mode
	}
	r.mode, r.report.Mode = r.cluster.Mode(), r.cluster.Mode()
	if err := r.connect(ctx); err != nil {
		return errors.Join(err, r.end(ctx, false))
	}
	return nil
}

// connect takes the cluster into the hands of the backend.
func (r *run) connect(ctx context.Context) error {
	var err error
	if r.machines, err = relays(ctx, r.cluster); err != nil {
		return err
	}
	if r.kind, err = kind.New(ctx, r.cluster, kind.Options{}); err != nil {
		return err
	}
	none := ""
	if r.mode != "iptables" {
		none = fmt.Sprintf("%s is in mode %s, and only rules of iptables can be walked", r.proxy, r.mode)
	}
	r.backend = foretell.New(r.kind, r.machines, none)
	return nil
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
	r.report.FalseAlarm = r.backend.FalseAlarm()
	path, err := r.report.writeFiles(r.folder, r.name())
	if err != nil {
		return false, err
	}
	r.report.writeSummary(r.out)
	r.say("report: %s", path)
	t := r.report.Totals
	if r.all && r.only != partChanges && !t.enough() {
		r.say("too few scenarios ran: %d of %d, want %d of 100", t.Ran, t.Scenarios, leastShare)
		return false, nil
	}
	return t.Failed == 0 && t.Changes == t.ChangesHeld, nil
}

// scenarios runs all of them.
func (r *run) scenarios(ctx context.Context, all []*scenarios.Scenario) {
	r.report.Scenarios = rowsOf(all, func(s *scenarios.Scenario) *scenarioRow {
		if ctx.Err() != nil {
			return nil
		}
		began := time.Now()
		result := scenarios.Run(ctx, s, r.backend)
		if ctx.Err() != nil {
			return nil
		}
		var sound *scenarios.Result
		if result.Failed() {
			sound = scenarios.Run(ctx, s, soundBackend{})
		}
		row := rowOf(result, sound, r.mode, clausesOf(s))
		row.OfIPTables = result.Skipped != "" && r.kind.OfIPTables(s)
		r.tell(result, &row, time.Since(began))
		return &row
	})
}

// rowsOf looks at scenarios one after the other, those with one configuration together. The rows are in the scenarios' own order, without those that
// have come to no end (nil).
func rowsOf(all []*scenarios.Scenario, look func(*scenarios.Scenario) *scenarioRow) []scenarioRow {
	found := map[*scenarios.Scenario]*scenarioRow{}
	for _, s := range kind.Order(all) {
		found[s] = look(s)
	}
	var rows []scenarioRow
	for _, s := range all {
		if row := found[s]; row != nil {
			rows = append(rows, *row)
		}
	}
	return rows
}

// tell prints what came of a scenario: a line, and of what failed the three columns, the packet's way and the rules that make the difference.
func (r *run) tell(result *scenarios.Result, row *scenarioRow, took time.Duration) {
	if row.Result == resultNotRun {
		return
	}
	r.say("%-6s %s (%s, %d probes, %.1f s)", row.Result, row.Name, row.File, len(row.Probes), took.Seconds())
	if row.Result == resultHeld {
		return
	}
	if row.Result == resultDiffers {
		row.tellAllowed(r.say)
		return
	}
	if err := scenarios.WriteText(r.out, []*scenarios.Result{result}, scenarios.WaysFailed); err != nil {
		r.say("%v", err)
	}
	for i := range row.Probes {
		for _, rule := range row.Probes[i].Rules {
			r.say("  %s: %s", row.Probes[i].Name, rule)
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
	if err := r.kind.Rest(ctx); err != nil {
		return err
	}
	if err := r.cluster.ResetProxies(ctx); err != nil {
		return err
	}
	for _, change := range traffic.Changes() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		row := changeRow{Name: change.Name, Result: resultHeld}
		told, err := change.Run(ctx, traffic.Bench{Cluster: r.cluster, Machine: r.machines.machine, Mode: r.mode})
		row.Told = told
		if err != nil {
			row.Result, row.Told = resultFailed, err.Error()
		}
		r.report.Changes = append(r.report.Changes, row)
		r.say("%-6s under traffic: %s: %s", row.Result, row.Name, row.Told)
	}
	return nil
}

// end keeps what the nodes are like if something failed, and takes the cluster down.
func (r *run) end(ctx context.Context, held bool) error {
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	var errs []error
	if !held && ctx.Err() == nil {
		folder := r.artifacts()
		errs = append(errs, os.RemoveAll(folder), r.cluster.Export(cleanup, folder))
		r.say("what the nodes are like: %s", folder)
	}
	if r.kind != nil {
		errs = append(errs, r.kind.Close(cleanup))
	}
	return errors.Join(append(errs, r.machines.close(), r.cluster.Close(cleanup))...)
}

func (r *run) say(format string, values ...any) { fmt.Fprintf(r.out, format+"\n", values...) }
