// Command weight builds chainwalk and the collector as a release has them, and prints what they weigh: their sizes, the modules that most
// of chainwalk is, and for some commands how long they take from start to end, how much processor time and how much memory. Times and
// memory are this machine's. A size or memory above its limit is a failure.
//
//	weight [-limit MB] [-collector MB] [-runs N]
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
	limit     float64
	collector float64
	runs      int
}

func main() {
	var o options
	(&command.Command{
		Name: "weight",
		Flags: func(set *flag.FlagSet) {
			set.Float64Var(&o.limit, "limit", 45, "the size, in millions of bytes and without symbols, from which on it fails")
			set.Float64Var(&o.collector, "collector", 8, "the same for the collector")
			set.IntVar(&o.runs, "runs", 20, "how often each command is started")
		},
		Valid: func(args []string) bool {
			return len(args) == 0 && o.limit > 0 && o.collector > 0 && o.runs > 0
		},
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
	bare, named, collector := filepath.Join(folder, "chainwalk"), filepath.Join(folder, "named"), filepath.Join(folder, "collect")
	small, err := sized(ctx, out, bare, "chainwalk", o.limit)
	if err != nil {
		return false, err
	}
	smallCollector, err := sized(ctx, out, collector, "chainwalk-collect", o.collector)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(out, "\n%-9s %10s %10s %10s %19s %6s\n", "command", "median", "fastest", "processor", "memory in MB", "limit")
	modest := true
	for _, c := range commands(folder) {
		least, err := o.start(ctx, out, bare, c)
		if err != nil {
			return false, err
		}
		modest = modest && least < c.memory
	}
	if !modest {
		fmt.Fprintln(out, "a command has more memory than its limit in every run")
	}
	// This comes last: Linux counts what a process had resident before it started another as memory of that one, too.
	if err := modules(ctx, out, named); err != nil {
		return false, err
	}
	return small && smallCollector && modest, nil
}

// modules builds chainwalk with symbols, and prints the modules that most of it is.
func modules(ctx context.Context, out io.Writer, named string) error {
	if err := build(ctx, named, "chainwalk", "-w"); err != nil {
		return err
	}
	symbols, err := output(ctx, "go", "tool", "nm", "-size", named)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "\nMB of code and data, by module (without the tables that find lines of code, which grow with the code):")
	for _, m := range heaviest(symbols, shown) {
		fmt.Fprintf(out, "  %6.2f  %s\n", float64(m.bytes)/1e6, m.name)
	}
	return nil
}

// sized builds a command without symbols, prints its size, and says whether it is below a limit in millions of bytes.
func sized(ctx context.Context, out io.Writer, to, command string, limit float64) (below bool, err error) {
	if err := build(ctx, to, command, "-s -w"); err != nil {
		return false, err
	}
	// It is copied, as an installed program is: of a file that the linker has mapped itself, the kernel maps more at once.
	if _, err := output(ctx, "cp", to, to+".copied"); err != nil {
		return false, err
	}
	if err := os.Rename(to+".copied", to); err != nil {
		return false, err
	}
	info, err := os.Stat(to)
	if err != nil {
		return false, err
	}
	size := float64(info.Size()) / 1e6
	fmt.Fprintf(out, "%s without symbols: %.1f MB (limit %g)\n", command, size, limit)
	return size < limit, nil
}

// build links a command with flags of the linker, otherwise as a release has it.
func build(ctx context.Context, to, command, flags string) error {
	_, err := output(ctx, "go", "build", "-trimpath", "-ldflags", flags, "-o", to, "./cmd/"+command)
	return err
}

func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, &stderr)
	}
	return text, nil
}

// started is a command that is started. One of its runs must have less memory than a limit, in millions of bytes.
type started struct {
	name        string
	args        []string
	environment []string
	memory      float64
}

// commands are what people wait for. They start in the root of the repository.
func commands(folder string) []started {
	return []started{
		{"version", []string{"version"}, nil, 30},
		{"trace", []string{"trace", "--node", "internal/dumps/kind-v1.34/legacy/demo-worker.yaml", "--summary",
			"tcp 10.244.2.2:40000 > 10.96.125.22:80 in vethb0aa81ba"}, nil, 30},
		{"check", []string{"check", "scenarios/testdata/cases/hairpin.yaml"}, nil, 30},
		{"tool", []string{"tool", "iptables-save"}, []string{"CHAINWALK_STATE=" + filepath.Join(folder, "state")}, 30},
	}
}

// start runs a command several times, and prints how long it takes, how much processor time that is, and the least and the most memory that
// a run had. The pages of the program's own file are most of it, though processes share them: the kernel maps 16 at once.
func (o options) start(ctx context.Context, out io.Writer, program string, c started) (least float64, err error) {
	var times, busy []time.Duration
	var resident []float64
	for range o.runs {
		cmd := exec.CommandContext(ctx, program, c.args...)
		cmd.Env = append(os.Environ(), c.environment...)
		begin := time.Now()
		text, err := cmd.CombinedOutput()
		times = append(times, time.Since(begin))
		busy = append(busy, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		if err != nil {
			return 0, fmt.Errorf("chainwalk %s: %w\n%s", c.name, err, text)
		}
		resident = append(resident, float64(memory(cmd.ProcessState))/1e6)
	}
	slices.Sort(times)
	slices.Sort(busy)
	slices.Sort(resident)
	middle := len(times) / 2
	fmt.Fprintf(out, "%-9s %7d ms %7d ms %7d ms %8.1f to %7.1f %6g\n", c.name, times[middle].Milliseconds(), times[0].Milliseconds(),
		busy[middle].Milliseconds(), resident[0], resident[len(resident)-1], c.memory)
	return resident[0], nil
}
