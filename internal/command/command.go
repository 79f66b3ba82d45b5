// Package command is the frame of the commands of this repository that check something: flags, the text of an error, and the exit status.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// The statuses to exit with.
const (
	Held   = 0 // everything holds, or somebody asked for help
	Failed = 1 // something does not hold
	Broken = 2 // bad usage, or it could not look
)

// Command looks whether something holds.
type Command struct {
	Name string
	// Flags defines the flags.
	Flags func(*flag.FlagSet)
	// Valid reports whether the flags, and what stands behind them, make sense. Nil: they always do.
	Valid func(args []string) bool
	// Look says whether everything holds. An error says that it could not look.
	Look func(ctx context.Context, args []string, out io.Writer) (held bool, err error)
}

// Run runs the command with the arguments behind its name, and says with which status to exit.
func (c *Command) Run(ctx context.Context, args []string, out, errOut io.Writer) (status int) {
	flags := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	flags.SetOutput(errOut)
	c.Flags(flags)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return Held
	case err != nil:
		return Broken
	case c.Valid != nil && !c.Valid(flags.Args()):
		flags.Usage()
		return Broken
	}
	held, err := c.Look(ctx, flags.Args(), out)
	switch {
	case err != nil:
		fmt.Fprintf(errOut, "%s: %v\n", c.Name, err)
		return Broken
	case !held:
		return Failed
	}
	return Held
}

// untilEnded is a context that ends when somebody wants the process to end: by Ctrl-C, or as kill and service managers do.
func untilEnded() (ctx context.Context, stop func()) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// Main runs the command as a process, until it ends or is interrupted. What it has begun it takes away then.
func (c *Command) Main() {
	ctx, stop := untilEnded()
	status := c.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}
