package iptables

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// How long the tools wait for the lock, and how long between two tries.
const (
	waitLimit    = 5 * time.Second
	waitInterval = 100 * time.Millisecond
)

// operation is what iptables does to a chain.
type operation string

const (
	opCreateChain operation = "-N"
	opFlushChain  operation = "-F"
	opDeleteChain operation = "-X"
	opListChain   operation = "-S"
	opCheckRule   operation = "-C"
	opDeleteRule  operation = "-D"
)

// command is one run of a tool.
type command struct {
	argv   []string
	stdin  []byte
	stdout io.Writer     // nil: kept for the error
	limit  time.Duration // 0 and below: none
}

// waitArgs are the options of iptables that let it wait for the lock.
func (v toolVersion) waitArgs() []string {
	switch {
	case v.atLeast(hasWaitInterval):
		return []string{"-w", wholeSeconds(waitLimit), "-W", strconv.FormatInt(waitInterval.Microseconds(), 10)}
	case v.atLeast(hasWaitSeconds):
		return []string{"-w", wholeSeconds(waitLimit)}
	case v.atLeast(hasWait):
		return []string{"-w"}
	}
	return nil
}

// restoreWaitArgs are the options of iptables-restore that let it take the lock and wait for it.
func (v toolVersion) restoreWaitArgs() []string {
	if v.atLeast(hasRestoreWait) {
		return v.waitArgs()
	}
	return nil
}

// wholeSeconds spells a duration for -w.
func wholeSeconds(d time.Duration) string {
	return strconv.Itoa(int(d / time.Second))
}

// chainCommand is iptables on a chain.
func (r *Runner) chainCommand(op operation, table Table, chain Chain, args ...string) command {
	argv := make([]string, 0, 5+len(r.wait)+len(args))
	argv = append(append(argv, r.tools.iptables), r.wait...)
	argv = append(append(argv, string(op), string(chain), "-t", string(table)), args...)
	return command{argv: argv, limit: r.timeLimit}
}

// saveCommand is iptables-save of a table. It has no time limit, like restoreCommand: the nf_tables tools take minutes for
// a few hundred thousand rules.
func (r *Runner) saveCommand(table Table, stdout io.Writer) command {
	return command{argv: []string{r.tools.Save, "-t", string(table)}, stdout: stdout}
}

// restoreCommand is iptables-restore of data; an empty table means all tables in data.
func (r *Runner) restoreCommand(table Table, data []byte, flush FlushFlag, counters RestoreCountersFlag) command {
	argv := slices.Concat([]string{r.tools.Restore}, r.version.restoreWaitArgs())
	if table != "" {
		argv = append(argv, "-T", string(table))
	}
	if flush == NoFlushTables {
		argv = append(argv, "--noflush")
	}
	if counters == RestoreCounters {
		argv = append(argv, "--counters")
	}
	return command{argv: argv, stdin: data}
}

// run runs the command to its end. A failure is a *commandError. Output and errors are kept apart, since the tools print
// warnings with exit status 0.
func (r *Runner) run(c command) (output []byte, failed *commandError) {
	ctx, stop := r.context(c.limit)
	defer stop()

	var printed bytes.Buffer
	cmd := r.exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	if c.stdin != nil {
		cmd.SetStdin(bytes.NewReader(c.stdin))
	}
	cmd.SetStderr(&printed)
	cmd.SetStdout(&printed)
	if c.stdout != nil {
		cmd.SetStdout(c.stdout)
	}

	err := cmd.Run()
	if err == nil {
		return printed.Bytes(), nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return printed.Bytes(), newCommandError(c.argv, err, printed.Bytes())
}

// context ends after the limit on the Runner's clock, or with stop.
func (r *Runner) context(limit time.Duration) (ctx context.Context, stop func()) {
	if limit <= 0 {
		return context.Background(), func() {}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	timer := r.clock.AfterFunc(limit, func() {
		cancel(fmt.Errorf("killed after %s: %w", limit, context.DeadlineExceeded))
	})
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}
