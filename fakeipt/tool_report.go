package fakeipt

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
)

// report prints an error of usage and returns the exit status. line is that of the input, -1 for a command line.
func (run *toolRun) report(err *xtables.Problem, line int) int {
	if err.Before != "" {
		fmt.Fprintln(run.stderr, err.Before)
	}
	if !err.Bare {
		fmt.Fprintf(run.stderr, "%s v%s (%s): ", run.name, run.kernel.version, run.kernel.variant())
	}
	if err.Msg != "" {
		fmt.Fprintf(run.stderr, "%s\n", err.Msg)
	}
	switch err.Status {
	case xtables.StatusParameter:
		if line >= 0 {
			fmt.Fprintf(run.stderr, "Error occurred at line: %d\n", line)
		}
		fmt.Fprintf(run.stderr, "Try `%s -h' or '%s --help' for more information.\n", run.name, run.name)
	case xtables.StatusVersion:
		fmt.Fprintf(run.stderr, "Perhaps %s or your kernel needs to be upgraded.\n", xtables.FactsOf(run.family).Tool)
	}
	return err.Status
}

// reportBatch prints what the kernel refused of a batch (nft).
func (run *toolRun) reportBatch(failures []ruleset.Failure, lines bool) int {
	var text []byte
	for _, f := range failures {
		if lines {
			text = fmt.Appendf(text, "\nline %d: ", f.Line)
		} else if text = append(text, ' '); len(text) > 1 {
			// Without lines the tool tells the first only.
			text = text[:len(text)-1]
			break
		}
		what := "rule in chain"
		if f.Kind.IsOfChain() {
			what = "chain"
		}
		what += " " + f.Chain
		text = fmt.Appendf(text, "%v failed (%s): %s", f.Kind, libc.Strerror(f.Errno), what[:min(len(what), maxBatchChange)])
		if len(text) >= maxBatchText {
			text = text[:maxBatchText]
			break
		}
	}
	fmt.Fprintf(run.stderr, "%s v%s (%s): %s\n", run.name, run.kernel.version, run.kernel.variant(), text)
	return xtables.StatusResource
}

// maxBatchChange is the room the tool has for what it says a change is about.
const maxBatchChange = 127

// maxBatchText is the room the tool has for the message.
const maxBatchText = 1023
