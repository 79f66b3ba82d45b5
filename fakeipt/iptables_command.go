package fakeipt

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// command is iptables or ip6tables.
func (run *toolRun) command() int {
	parser := run.kernel.parser(run.family, caller{run, run.kernel})
	defer run.kernel.done(parser)
	parser.inTable("filter", run.argv0)
	parser.args.SetArgs(run.args)
	cmd, err := parser.parse()
	var end *farewell
	if errors.As(err, &end) {
		return run.farewell(end)
	}
	if err != nil {
		return run.reportError(err)
	}
	if status, ok := run.enter(Visit{Locks: true, Wait: cmd.waitSeconds, Table: cmd.table, Chains: cmd.asksAbout(),
		Objects: slices.Contains(run.args, new(match.Rateest).Name())}); !ok {
		return status
	}
	kind := ruleset.FindKind(cmd.table)
	if kind == nil {
		return run.reportError(run.noTable(cmd.table))
	}
	return run.onTable(kind, cmd)
}

// noTable is the error of a table that the kernel does not have.
func (run *toolRun) noTable(name string) error {
	if run.kernel.dialect == netfilter.NFT {
		return &xtables.Problem{Status: xtables.StatusVersion, Msg: fmt.Sprintf("table '%s' does not exist", name)}
	}
	text := fmt.Sprintf("can't initialize %s table `%s': %s", xtables.FactsOf(run.family).Tool, name, noTableText(name))
	return &xtables.Problem{Status: xtables.StatusVersion, Msg: text}
}

// maxTableName is the length of a table's name.
const maxTableName = 31

// noTableText is what the legacy tools say about a table that is none.
func noTableText(name string) string {
	if len(name) > maxTableName {
		return "Module is wrong version"
	}
	return "Table does not exist (do you need to insmod?)"
}

// onTable carries the command out on a table and commits what it changed.
func (run *toolRun) onTable(kind *ruleset.Kind, cmd *command) int {
	run.kernel.namespace.Lock()
	defer run.kernel.namespace.Unlock()
	run.kernel.ensure(run.family, kind)
	native := run.kernel.nativeNamed(run.family, kind)
	x := &execution{caller: caller{run, run.kernel}, edit: run.kernel.edit(run.family, kind, native, 0), native: native}
	err := x.onNative(cmd)
	if err == nil {
		err = x.run(cmd)
	}
	if err == nil && x.edit.AsksKernel() {
		err = run.kernel.commit(run.family, x.edit, native)
	}
	if werr := x.print(run.stdout); werr != nil && err == nil {
		err = &xtables.Problem{Status: xtables.StatusOther, Msg: werr.Error()}
	}
	return run.reportError(err)
}

// reportError prints an error as iptables does.
func (run *toolRun) reportError(err error) int {
	if err == nil {
		return 0
	}
	if usage, ok := xtables.AsProblem(err); ok {
		return run.report(usage, -1)
	}
	var missing *missingChain
	if errors.As(err, &missing) {
		return run.report(&xtables.Problem{Status: xtables.StatusParameter, Msg: missing.Error()}, -1)
	}
	var commit *ruleset.CommitError
	if errors.As(err, &commit) && commit.Failures != nil {
		return run.reportBatch(commit.Failures, false)
	}
	fmt.Fprintf(run.stderr, "%s: %s\n", run.name, refusalText(err))
	return xtables.StatusOther
}

// refusalText is the message of libiptc for an error.
func refusalText(err error) string {
	var commit *ruleset.CommitError
	if errors.As(err, &commit) {
		return errnoSentence(commit.Errno)
	}
	var r *ruleset.Refusal
	if !errors.As(err, &r) {
		return err.Error()
	}
	if r.Errno == syscall.EINVAL {
		return r.Msg + ". Run `dmesg' for more information."
	}
	return strings.TrimSuffix(r.Msg, ".") + "."
}

// errnoSentence is the message for an errno of the kernel.
func errnoSentence(errno syscall.Errno) string {
	switch errno {
	case syscall.EINVAL:
		return "Invalid argument. Run `dmesg' for more information."
	case syscall.ENOENT:
		return "No chain/target/match by that name."
	}
	return libc.Strerror(errno) + "."
}

// farewell prints the version or the help.
func (run *toolRun) farewell(f *farewell) int {
	switch {
	case f.help:
		_, _ = run.stdout.Write(run.help(f.of))
	case f.inverted:
		fmt.Fprintf(run.stdout, "Not %s (%s) ;-)\n", run.kernel.version, run.kernel.variant())
	default:
		return run.printVersion()
	}
	return 0
}
