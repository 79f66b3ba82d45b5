package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/kindtest/netns"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/sim"
)

type runOptions struct {
	backend string
	output  string
	ways    string
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
	flags.StringVar(&o.backend, "on", scenarios.BackendSim, "the backend to run on: sim, or netns for this machine's kernel (Linux, root)")
	flags.StringVarP(&o.output, "output", "o", "text", "how to print the results: text, json or junit")
	flags.StringVar(&o.ways, "ways", "one",
		"which packets to show the way of, beside those of failures: none, one (of the last scenario) or all")
	completeWords(cmd, "on", scenarios.BackendSim)
	completeWords(cmd, "output", "text", "json", "junit")
	completeWords(cmd, "ways", "none", "one", "all")
	return cmd
}

func runScenarios(ctx context.Context, s streams, paths []string, o runOptions) error {
	backend, err := backendNamed(o.backend)
	if err != nil {
		return err
	}
	write, err := reportWriter(o)
	if err != nil {
		return err
	}
	loaded, err := scenarios.Load(paths...)
	if err != nil {
		return err
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

func backendNamed(name string) (scenarios.Backend, error) {
	for _, b := range []scenarios.Backend{sim.Backend{}, netns.Backend{}} {
		if b.Name() == name {
			return b, nil
		}
	}
	return nil, fmt.Errorf("--on %s: this build has the backends sim and netns", name)
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
	}
	return nil, fmt.Errorf("-o %s: want text, json or junit", o.output)
}
