// Command weight builds chainwalk and prints what it weighs: its size without symbols, the modules that most of it is, and for some
// commands how long they take from start to end, how much processor time and how much memory. Times and memory are this machine's. A size
// above the limit is a failure.
//
//	weight [-limit MB] [-runs N]
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/chainwalk/chainwalk/internal/command"
)

// options are the flags.
type options struct {
	limit float64
	runs  int
}

func main() {
	var o options
	(&command.Command{
		Name: "weight",
		Flags: func(set *flag.FlagSet) {
			set.Float64Var(&o.limit, "limit", 54, "the size, in millions of bytes and without symbols, from which on it fails")
			set.IntVar(&o.runs, "runs", 20, "how often each command is started")
		},
		Valid: func(args []string) bool { return len(args) == 0 && o.limit > 0 && o.runs > 0 },
		Look: func(ctx context.Context, _ []string, out io.Writer) (held bool, err error) {
			return o.weigh(ctx, out)
		},
	}).Main()
}

// shown is how many modules are printed.
const shown = 20

func (o options) weigh(ctx context.Context, out io.Writer) (held bool, err error) {
	folder, err := os.MkdirTemp("", "weight")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	bare, named := filepath.Join(folder, "chainwalk"), filepath.Join(folder, "named")
	if err := build(ctx, bare, "-s -w"); err != nil {
		return false, err
	}
	info, err := os.Stat(bare)
	if err != nil {
		return false, err
	}
	size := float64(info.Size()) / 1e6
	fmt.Fprintf(out, "chainwalk without symbols: %.1f MB (limit %g)\n", size, o.limit)
	if err := build(ctx, named, "-w"); err != nil {
		return false, err
	}
	symbols, err := output(ctx, "go", "tool", "nm", "-size", named)
	if err != nil {
		return false, err
	}
	fmt.Fprintln(out, "\nMB of code and data, by module (without the tables that find lines of code, which grow with the code):")
	for _, m := range heaviest(symbols, shown) {
		fmt.Fprintf(out, "  %6.2f  %s\n", float64(m.bytes)/1e6, m.name)
	}
	fmt.Fprintf(out, "\n%-9s %10s %10s %10s %12s\n", "command", "median", "fastest", "processor", "most memory")
	for _, c := range commands(folder) {
		if err := o.start(ctx, out, bare, c); err != nil {
			return false, err
		}
	}
	return size < o.limit, nil
}

// build links the command with flags of the linker.
func build(ctx context.Context, to, flags string) error {
	_, err := output(ctx, "go", "build", "-ldflags", flags, "-o", to, "./cmd/chainwalk")
	return err
}

func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, &stderr)
	}
	return text, nil
}

// started is a command that is started.
type started struct {
	name        string
	args        []string
	environment []string
}

// commands are what people wait for. They start in the root of the repository.
func commands(folder string) []started {
	return []started{
		{"version", []string{"version"}, nil},
		{"trace", []string{"trace", "--node", "internal/dumps/kind-v1.34/legacy/demo-worker.yaml", "--summary",
			"tcp 10.244.2.2:40000 > 10.96.125.22:80 in vethb0aa81ba"}, nil},
		{"check", []string{"check", "scenarios/testdata/cases/hairpin.yaml"}, nil},
		{"tool", []string{"tool", "iptables-save"}, []string{"CHAINWALK_STATE=" + filepath.Join(folder, "state")}},
	}
}

// start runs a command several times, and prints how long it takes, how much processor time that is, and the most memory that one run had.
// The pages of the program's own file are part of it, though processes share them.
func (o options) start(ctx context.Context, out io.Writer, program string, c started) error {
	var times, busy []time.Duration
	var most int64
	for range o.runs {
		cmd := exec.CommandContext(ctx, program, c.args...)
		cmd.Env = append(os.Environ(), c.environment...)
		begin := time.Now()
		text, err := cmd.CombinedOutput()
		times = append(times, time.Since(begin))
		busy = append(busy, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		if err != nil {
			return fmt.Errorf("chainwalk %s: %w\n%s", c.name, err, text)
		}
		most = max(most, memory(cmd.ProcessState))
	}
	slices.Sort(times)
	slices.Sort(busy)
	middle := len(times) / 2
	fmt.Fprintf(out, "%-9s %7d ms %7d ms %7d ms %9.1f MB\n", c.name, times[middle].Milliseconds(), times[0].Milliseconds(),
		busy[middle].Milliseconds(), float64(most)/1e6)
	return nil
}
