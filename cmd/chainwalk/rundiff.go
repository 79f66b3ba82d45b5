package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios"
)

// diffRuns has two builds of chainwalk run the same scenarios, and says which packets are treated differently.
func diffRuns(ctx context.Context, s streams, args []string, o runOptions) error {
	if err := o.checkDiff(args); err != nil {
		return err
	}
	builds := [2]string{o.diff, args[0]}
	var results [2][]*scenarios.Result
	for i, build := range builds {
		var err error
		if results[i], err = runBuild(ctx, build, args[1:], o); err != nil {
			return err
		}
	}
	found, err := scenarios.Compare(results[0], results[1])
	if err != nil {
		return err
	}
	if o.output == "json" {
		err = writeJSON(s.out, found)
	} else {
		err = found.WriteText(s.out, builds[0], builds[1], o.verbose)
	}
	if err == nil && len(found.Changes) > 0 {
		return errNotHeld
	}
	return err
}

// checkDiff refuses what --diff cannot be with.
func (o *runOptions) checkDiff(args []string) error {
	switch {
	case len(args) < 2:
		return errors.New("--diff BUILD1 BUILD2 PATH...: give two programs and the scenarios that both are to run")
	case slices.Contains(args[1:], "-"):
		return errors.New("--diff: standard input cannot be read twice (give a file)")
	case o.output != "text" && o.output != "json":
		return fmt.Errorf("-o %s: with --diff want text or json", o.output)
	case o.backend != scenarios.BackendSim:
		return fmt.Errorf("--on %s: with --diff each build runs its own simulation", o.backend)
	case o.watch || o.list || o.failFast:
		return errors.New("--diff has both builds run all scenarios once: leave out --watch, --list and --fail-fast")
	}
	return nil
}

// runBuild has a build of chainwalk run scenarios, and reads what it prints. That scenarios fail there is a result like any other.
func runBuild(ctx context.Context, build string, paths []string, o runOptions) ([]*scenarios.Result, error) {
	args := []string{"run", "-o", "json", "--ways", "all", "--run", o.match}
	if o.ignored.on {
		args = append(args, "--ignore-unknown")
	}
	if o.timeout > 0 {
		args = append(args, "--timeout", o.timeout.String())
	}
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, build, append(append(args, "--"), paths...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = os.Environ(), &out, &errOut
	err := cmd.Run()
	var status *exec.ExitError
	switch {
	case errors.As(err, &status) && status.ExitCode() == exitNotHeld:
	case errors.As(err, &status):
		return nil, fmt.Errorf("--diff: %s: %w: %s", build, err, strings.TrimSpace(errOut.String()))
	case err != nil:
		return nil, fmt.Errorf("--diff: %s is to be a build of chainwalk (go build -o FILE ./cmd/chainwalk): %w", build, err)
	}
	results, err := scenarios.ReadJSON(&out)
	if err != nil {
		return nil, fmt.Errorf("--diff: %s: %w", build, err)
	}
	return results, nil
}
