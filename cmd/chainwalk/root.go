package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/packetsim"
)

// The exit statuses of every command.
const (
	exitHeld    = 0 // what was asked holds
	exitNotHeld = 1 // it does not
	exitUsage   = 2 // the command line or an input could not be understood
)

// errNotHeld makes the exit status 1. The command has already printed why.
var errNotHeld = errors.New("did not hold")

// streams are what a command reads and writes.
type streams struct {
	in          io.Reader
	out, errOut io.Writer
}

// run is main without the process: it returns the exit status.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	return runCalled(ownName, args, in, out, errOut)
}

// runCalled is run for a program that is called by a name.
func runCalled(name string, args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // who interrupts a second time does not want to wait for the end

	root := newRootFor(name, args, streams{in: in, out: out, errOut: errOut})
	root.SetArgs(args)
	rename(root, name)
	err := root.ExecuteContext(ctx)
	var status toolStatus
	switch {
	case err == nil:
		return exitHeld
	case errors.Is(err, errNotHeld):
		return exitNotHeld
	case errors.As(err, &status):
		return int(status)
	}
	fmt.Fprintf(errOut, "chainwalk: %v\n", err)
	var opaque *packetsim.OpaqueError
	if errors.As(err, &opaque) {
		return exitNotHeld // the input is understood, but for what the packet met
	}
	return exitUsage
}

// commands are what the program has, by name.
var commands = []struct {
	name   string
	create func(streams) *cobra.Command
}{
	{"run", newRunCommand},
	{"check", newCheckCommand},
	{"rules", newRulesCommand},
	{"trace", newTraceCommand},
	{"snapshot", newSnapshotCommand},
	{"scenario", newScenarioCommand},
	{"why", newWhyCommand},
	{"doctor", newDoctorCommand},
	{"migrate", newMigrateCommand},
	{"diff", newDiffCommand},
	{"verify", newVerifyCommand},
	{"ask", newAskCommand},
	{"gather", newGatherCommand},
	{"anonymise", newAnonymiseCommand},
	{"fuzz", newFuzzCommand},
	{"schema", newSchemaCommand},
	{"tool", newToolCommand},
	{"proxy", newProxyCommand},
	{"probe", newProbeCommand},
	{"version", newVersionCommand},
}

func newRootCommand(s streams) *cobra.Command {
	root := newBareRoot(s)
	for _, c := range commands {
		root.AddCommand(c.create(s))
	}
	root.AddCommand(releaseCommands()...)
	return root
}

// newRootFor is newRootCommand for one command line. If that begins with the name of a command, there are no others, whose flags take
// memory. The plugin of kubectl has them, since it looks for their names in help texts.
func newRootFor(name string, args []string, s streams) *cobra.Command {
	for _, c := range commands {
		if name == ownName && len(args) > 0 && args[0] == c.name {
			root := newBareRoot(s)
			root.AddCommand(c.create(s))
			return root
		}
	}
	return newRootCommand(s)
}

// newBareRoot is the program without its commands.
func newBareRoot(s streams) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "chainwalk",
		Short: "Simulate and test Kubernetes Services: kube-proxy on a fake kernel, packet by packet",
		Long: `chainwalk tells you what a Kubernetes node does with a packet to a Service, and which rule decides.
It reads the rules of a node, or runs kube-proxy (mode iptables or nftables) against a fake kernel, and walks packets through them.

Exit status: 0 passed, or the answer is yes; 1 failed, or no; 2 bad usage or input.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return writeVersion(s)
			}
			return cmd.Help()
		},
		PersistentPreRunE: needFlags,
	}
	root.SetFlagErrorFunc(flagError)
	addVersionFlags(root.Flags(), &version)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.errOut)
	return root
}
