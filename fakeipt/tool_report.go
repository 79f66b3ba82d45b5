package fakeipt

import (
	"fmt"

	"github.com/chainwalk/chainwalk/internal/libc"
)

// report prints an error of usage and returns the exit status. line is that of the input, -1 for a command line.
func (run *toolRun) report(err *problem, line int) int {
	if !err.bare {
		fmt.Fprintf(run.stderr, "%s v%s (%s): ", run.name, run.kernel.version, run.kernel.variant())
	}
	if err.msg != "" {
		fmt.Fprintf(run.stderr, "%s\n", err.msg)
	}
	switch err.status {
	case statusParameter:
		if line >= 0 {
			fmt.Fprintf(run.stderr, "Error occurred at line: %d\n", line)
		}
		fmt.Fprintf(run.stderr, "Try `%s -h' or '%s --help' for more information.\n", run.name, run.name)
	case statusVersion:
		fmt.Fprintf(run.stderr, "Perhaps %s or your kernel needs to be upgraded.\n", factsOf(run.family).tool)
	}
	return err.status
}

// reportBatch prints what the kernel refused of a batch (nft).
func (run *toolRun) reportBatch(failures []batchError, lines bool) int {
	var text []byte
	for _, f := range failures {
		if lines {
			text = fmt.Appendf(text, "\nline %d: ", f.line)
		} else if text = append(text, ' '); len(text) > 1 {
			// Without lines the tool tells the first only.
			text = text[:len(text)-1]
			break
		}
		what := "rule in chain"
		if f.kind.isOfChain() {
			what = "chain"
		}
		what += " " + f.chain
		text = fmt.Appendf(text, "%s failed (%s): %s", batchNames[f.kind], libc.Strerror(f.errno), what[:min(len(what), maxBatchChange)])
		if len(text) >= maxBatchText {
			text = text[:maxBatchText]
			break
		}
	}
	fmt.Fprintf(run.stderr, "%s v%s (%s): %s\n", run.name, run.kernel.version, run.kernel.variant(), text)
	return statusResource
}

// maxBatchChange is the room the tool has for what it says a change is about.
const maxBatchChange = 127

// maxBatchText is the room the tool has for the message.
const maxBatchText = 1023
