package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/kindtest/kind"
	"github.com/chainwalk/chainwalk/kindtest/netns"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/page"
	"github.com/chainwalk/chainwalk/scenarios/sim"
)

type runOptions struct {
	backend string
	output  string
	ways    string
	kind    kindOptions
}

func newRunCommand(s streams) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run PATH...",
		Short: "Run scenario files or folders",
		Long: `Runs scenarios and prints a verdict for each. A failure shows the packet, its way, the rule that decided and what was
expected. Folders are searched for *.yaml files.`,
		Example: `  chainwalk run scenarios/testdata/cases
  chainwalk run hairpin.yaml --ways all
  chainwalk run scenarios/testdata/cases -o junit > report.xml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runScenarios(cmd.Context(), s, args, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.backend, "on", scenarios.BackendSim, "the backend to run on: sim, netns for this machine's kernel (Linux, root), or kind for a kind cluster (Docker)")
	flags.StringVarP(&o.output, "output", "o", "text", "how to print the results: text, json, junit or html (a page for a browser)")
	flags.StringVar(&o.ways, "ways", "one",
		"which packets to show the way of, beside those of failures: none, one (of the last scenario) or all")
	o.kind.addFlags(flags)
	completeWords(cmd, "on", scenarios.BackendSim, scenarios.BackendNetns, scenarios.BackendKind)
	completeWords(cmd, "output", "text", "json", "junit", "html")
	completeWords(cmd, "ways", "none", "one", "all")
	return cmd
}

func runScenarios(ctx context.Context, s streams, paths []string, o runOptions) (err error) {
	write, err := reportWriter(o)
	if err != nil {
		return err
	}
	if err := checkBackend(o.backend); err != nil {
		return err
	}
	loaded, err := scenarios.Load(paths...)
	if err != nil {
		return err
	}
	backend, closeBackend, err := startBackend(ctx, s, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeBackend()) }()
	if o.backend == scenarios.BackendKind {
		loaded = kind.Order(loaded)
	}
	results := make([]*scenarios.Result, 0, len(loaded))
	held := true
	for _, scenario := range loaded {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("interrupted before %s", scenario.Pos.File)
		}
		result := scenarios.Run(ctx, scenario, backend)
		held = held && !result.Failed()
		results = append(results, result)
	}
	if err := write(s.out, results); err != nil {
		return err
	}
	if !held {
		return errNotHeld
	}
	return nil
}

func checkBackend(name string) error {
	switch name {
	case scenarios.BackendSim, scenarios.BackendNetns, scenarios.BackendKind:
		return nil
	}
	return fmt.Errorf("--on %s: this build has the backends sim, netns and kind", name)
}

// startBackend makes what a backend runs on. Closing takes it away.
func startBackend(ctx context.Context, s streams, o runOptions) (b scenarios.Backend, closeBackend func() error, err error) {
	nothing := func() error { return nil }
	switch o.backend {
	case scenarios.BackendNetns:
		return netns.Backend{}, nothing, nil
	case scenarios.BackendKind:
		return o.kind.startKind(ctx, s)
	}
	return sim.Backend{}, nothing, nil
}

func reportWriter(o runOptions) (func(io.Writer, []*scenarios.Result) error, error) {
	ways, err := scenarios.ParseWays(o.ways)
	if err != nil {
		return nil, fmt.Errorf("--ways: %w", err)
	}
	switch o.output {
	case "text":
		return func(w io.Writer, results []*scenarios.Result) error {
			return scenarios.WriteText(w, results, ways)
		}, nil
	case "json":
		return func(w io.Writer, results []*scenarios.Result) error {
			return scenarios.WriteJSON(w, results, ways)
		}, nil
	case "junit":
		return scenarios.WriteJUnit, nil
	case "html":
		return func(w io.Writer, results []*scenarios.Result) error {
			return page.Run(w, results, page.RunOptions{Ways: ways, Source: sourceOf})
		}, nil
	}
	return nil, fmt.Errorf("-o %s: want text, json, junit or html", o.output)
}

// sourceOf is the text of a scenario's file; empty if it cannot be read once more.
func sourceOf(r *scenarios.Result) string {
	text, err := os.ReadFile(r.File)
	if err != nil {
		return ""
	}
	return string(text)
}
