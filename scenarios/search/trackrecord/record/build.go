package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/fuzz"
	"github.com/chainwalk/chainwalk/scenarios/search/trackrecord"
)

// caseFailed is the status of `chainwalk fuzz` if it found something.
const caseFailed = 1

// binary is chainwalk with all faults.
type binary struct{ root, path string }

func build(ctx context.Context, root, dir string) (*binary, error) {
	o, err := trackrecord.Overlay(root)
	if err != nil {
		return nil, err
	}
	file, err := o.Write(dir)
	if err != nil {
		return nil, err
	}
	b := &binary{root: root, path: filepath.Join(dir, "chainwalk")}
	command := exec.CommandContext(ctx, "go", "build", "-overlay", file, "-o", b.path, "./cmd/chainwalk")
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building chainwalk with faults: %w\n%s", err, output)
	}
	return b, nil
}

// run runs chainwalk with a fault, none if it is empty. held is false if what was asked for did not hold.
func (b *binary) run(ctx context.Context, fault string, args ...string) (output []byte, held bool, err error) {
	output, _, held, err = b.timed(ctx, fault, args...)
	return output, held, err
}

// timed is run, and says how long a processor was busy with it.
func (b *binary) timed(ctx context.Context, fault string, args ...string) (output []byte, took time.Duration, held bool, err error) {
	command := exec.CommandContext(ctx, b.path, args...)
	command.Env = append(os.Environ(), trackrecord.Variable+"="+fault)
	var out, errOut bytes.Buffer
	command.Stdout, command.Stderr = &out, &errOut
	err = command.Run()
	if command.ProcessState != nil {
		took = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	}
	var status *exec.ExitError
	if errors.As(err, &status) && status.ExitCode() == caseFailed {
		return out.Bytes(), took, false, nil
	}
	if err != nil {
		return nil, took, false, fmt.Errorf("%w\n%s", err, errOut.Bytes())
	}
	return out.Bytes(), took, true, nil
}

// modeOf is the mode of kube-proxy in which a fault shows.
func modeOf(fault *trackrecord.Fault) string {
	return string(cmp.Or(fault.Mode, scenarios.ModeIPTables))
}

// fuzz looks for a fault with one seed, and makes nothing small.
func (b *binary) fuzz(ctx context.Context, fault *trackrecord.Fault, seed int, o options) (*fuzz.Result, time.Duration, error) {
	output, took, _, err := b.timed(ctx, fault.Name, "fuzz", "--mode", modeOf(fault), "--seed", strconv.Itoa(seed),
		"--runs", strconv.Itoa(o.cases), "--workers", "1", "--until-found", "--shrinks", "-1", "-o", "json")
	if err != nil {
		return nil, took, err
	}
	result, err := fuzz.ReadResult(bytes.NewReader(output))
	return result, took, err
}

// shrinks bounds what is spent on a small scenario.
const shrinks = "300"

// small is what a case that failed with a fault comes to when it is made small: a scenario for each clause that it breaks.
func (b *binary) small(ctx context.Context, fault *trackrecord.Fault, seed, number int) ([]fuzz.Failure, error) {
	output, _, err := b.run(ctx, fault.Name, "fuzz", "--mode", modeOf(fault), "--seed", strconv.Itoa(seed), "--case", strconv.Itoa(number),
		"--shrinks", shrinks, "-o", "json")
	if err != nil {
		return nil, err
	}
	result, err := fuzz.ReadResult(bytes.NewReader(output))
	if err != nil {
		return nil, err
	}
	return result.Failures, nil
}

// replay runs a scenario file on the simulator, and says how much was checked.
func (b *binary) replay(ctx context.Context, fault, file string) (checks int, held bool, err error) {
	output, held, err := b.run(ctx, fault, "run", "-o", "json", file)
	if err != nil {
		return 0, false, err
	}
	var report struct {
		Results []struct{ Checks []json.RawMessage }
	}
	if err := json.Unmarshal(output, &report); err != nil {
		return 0, false, err
	}
	for _, r := range report.Results {
		checks += len(r.Checks)
	}
	return checks, held, nil
}

// sound has the proxier without a fault judged in both modes, by as many cases as each fault may take.
func (b *binary) sound(ctx context.Context, o options, out io.Writer) bool {
	sound := true
	for _, mode := range []scenarios.Mode{scenarios.ModeIPTables, scenarios.ModeNFTables} {
		result, _, err := b.fuzz(ctx, &trackrecord.Fault{Mode: mode}, 1, o)
		if err != nil {
			fmt.Fprintf(out, "the sound proxier in mode %s: %v\n", mode, err)
			return false
		}
		for i := range result.Failures {
			f := &result.Failures[i]
			fmt.Fprintf(out, "the sound proxier in mode %s fails case %d: %s: want %s, got %s\n", mode, f.Case, f.Clause, f.Want, f.Got)
		}
		sound = sound && len(result.Failures) == 0
	}
	return sound
}
