// Measure makes a large cluster, and has chainwalk look at it: it prints the time and the memory that each command took as a process of
// its own, on one core.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/internal/command"
	"github.com/chainwalk/chainwalk/scenarios/users/large"
)

func main() { os.Exit(newCommand().Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

type options struct {
	services, endpoints int
	faults, program     string
	dir                 string
}

func newCommand() *command.Command {
	var o options
	return &command.Command{
		Name: "measure",
		Flags: func(set *flag.FlagSet) {
			set.IntVar(&o.services, "services", 1000, "how many services the cluster has")
			set.IntVar(&o.endpoints, "endpoints", 5, "how many endpoints each of them has")
			set.StringVar(&o.faults, "faults", faultNames(), "what is wrong with it, one cluster for each")
			set.StringVar(&o.program, "chainwalk", "", "the program to measure; empty: write the cluster only")
			set.StringVar(&o.dir, "dir", "", "the folder to write the cluster to, which stays; empty: one that is removed")
		},
		Valid: func(args []string) bool { return len(args) == 0 && (o.program != "" || o.dir != "") },
		Look: func(ctx context.Context, _ []string, out io.Writer) (bool, error) {
			return true, o.measureAll(ctx, out)
		},
	}
}

func faultNames() string {
	var names []string
	for _, fault := range large.Faults() {
		names = append(names, string(fault))
	}
	return strings.Join(names, ",")
}

// measureAll measures each cluster.
func (o *options) measureAll(ctx context.Context, out io.Writer) error {
	for i, name := range strings.Split(o.faults, ",") {
		var err error
		if o.program == "" {
			err = o.write(large.Fault(name))
		} else {
			err = o.measure(ctx, out, large.Fault(name), i == 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// write makes one cluster, and writes it to the folder.
func (o *options) write(fault large.Fault) error {
	cluster, err := large.New(o.services, o.endpoints)
	if err != nil {
		return err
	}
	if err := cluster.Break(fault); err != nil {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	return cluster.Write(o.dir)
}

// measure measures one cluster: doctor, and scenario from if it is the first one, since the fault does not matter to it. Another process
// makes the cluster: Linux counts the memory that the parent has when it starts a program as the program's.
func (o *options) measure(ctx context.Context, out io.Writer, fault large.Fault, first bool) (err error) {
	maker := *o
	if maker.dir == "" {
		if maker.dir, err = os.MkdirTemp("", "large"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(maker.dir)) }()
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	//nolint:gosec // it is this program
	made, err := exec.CommandContext(ctx, self, "-dir", maker.dir, "-faults", string(fault), "-services", strconv.Itoa(o.services),
		"-endpoints", strconv.Itoa(o.endpoints)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("make the cluster: %w: %s", err, made)
	}
	files, err := large.FilesOf(maker.dir)
	if err != nil {
		return err
	}
	given := []string{"-f", files.Objects, "--config", files.Config}
	for _, name := range files.Snapshots {
		given = append(given, "--node", name)
	}
	if first {
		if err := o.run(ctx, out, "", slices.Concat([]string{"scenario", "from"}, given), 0); err != nil {
			return err
		}
	}
	status := 1
	if fault == large.Sound {
		status = 0
	}
	return o.run(ctx, out, fault, append([]string{"doctor"}, given...), status)
}

// run runs the program, which has to exit with a status, and prints what it took.
func (o *options) run(ctx context.Context, out io.Writer, fault large.Fault, args []string, status int) error {
	cmd := exec.CommandContext(ctx, o.program, args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	var said strings.Builder
	cmd.Stderr = &said
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != status {
		return fmt.Errorf("%s %s: %w, want the exit status %d: %s", o.program, args[0], err, status, said.String())
	}
	what := args[0]
	if fault == "" {
		what += " " + args[1]
	}
	spent := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	_, err = fmt.Fprintf(out, "%-14s %-16s %6d services  %6.1f s  %5d MB\n", what, fault, o.services, spent.Round(time.Millisecond).Seconds(),
		peak(cmd.ProcessState)/1_000_000)
	return err
}
