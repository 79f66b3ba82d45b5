package iptables

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
)

var (
	// errNotFound is what a *commandError is (errors.Is) if the tool says that the chain, the rule, or the chain that a
	// rule jumps to, is not there.
	errNotFound = errors.New("no such chain or rule")

	// errResourceProblem is what a *commandError is (errors.Is) if the tool ended with exit status 4. Mostly another
	// program holds the lock of the tools, or changed the rules at the same time, and a later try may do; the nf_tables
	// tools end so as well when the kernel refuses a change, for example to delete a chain in use.
	errResourceProblem = errors.New("resource problem")
)

// The exit statuses of the tools.
const (
	exitOther    = 1 // "no", or refused by the kernel
	exitUsage    = 2 // arguments, also of rules in a restore
	exitResource = 4
)

// commandError is a tool that did not do what it was asked.
type commandError struct {
	// argv is the command.
	argv []string
	// exitStatus is what the tool ended with, -1 if it could not be started or was killed.
	exitStatus int
	// output is what the tool printed, without the lines that say nothing about the failure.
	output string
	// err is the error of running the command. It is context.DeadlineExceeded (errors.Is) after Options.TimeLimit.
	err error
}

// newCommandError says why a command failed. err is the error of k8s.io/utils/exec.
func newCommandError(argv []string, err error, output []byte) *commandError {
	failed := &commandError{argv: slices.Clone(argv), exitStatus: -1, output: withoutNoise(output), err: err}
	var exit exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		failed.exitStatus = exit.ExitStatus()
	}
	return failed
}

// Error returns the command, how it ended, what it printed and, where that is known, what to do.
func (e *commandError) Error() string {
	return strings.Join(quoted(e.argv), " ") + ": " + e.reason()
}

// reason is Error without the command.
func (e *commandError) reason() string {
	reason := fmt.Sprintf("exit status %d", e.exitStatus)
	if e.exitStatus < 0 {
		reason = e.err.Error()
	}
	if e.output != "" {
		reason += ": " + e.output
	}
	if hint := e.hint(); hint != "" {
		reason += ": " + hint
	}
	return reason
}

// Unwrap returns the error of running the command.
func (e *commandError) Unwrap() error { return e.err }

// Is says whether the failure is errNotFound or errResourceProblem.
func (e *commandError) Is(target error) bool {
	switch target {
	case errNotFound:
		return e.notFound()
	case errResourceProblem:
		return e.exitStatus == exitResource
	}
	return false
}

// notFound reads the words of the tool, since the exit status alone does not tell a missing chain from a bad argument. The
// words differ by version and dialect.
func (e *commandError) notFound() bool {
	switch e.exitStatus {
	case exitOther:
		return containsAny(e.output, "No chain/target/match by that name", "does a matching rule exist",
			"No such file or directory")
	case exitUsage:
		return missingTarget().MatchString(e.output)
	}
	return false
}

// missingTarget is how the legacy and the nf_tables tools say that the chain to jump to is not there.
var missingTarget = lazyregexp.New(`Couldn't load target|Chain '.*' does not exist`)

// hint is what to do about the failure, if the reason is known.
func (e *commandError) hint() string {
	switch {
	case errors.Is(e.err, exec.ErrExecutableNotFound):
		return "install iptables, or name its tools in Options.Tools"
	case containsAny(e.output, "Permission denied"):
		return "run as root, or with CAP_NET_ADMIN"
	case containsAny(e.output, "xtables lock"):
		return "another program holds the lock of iptables: try again later"
	case containsAny(e.output, "do you need to insmod"):
		return "the kernel module of the table is not loaded, or the kernel has none"
	}
	return ""
}

// RestoreError is input that iptables-restore refused.
type RestoreError struct {
	// Line is the line of the input that the tool names, from 1.
	Line int
	// Input is that line. It is empty if the input ends before it, as when the last COMMIT is missing.
	Input string
	// Table is the table that the line is in, empty if it is in none.
	Table Table
	// output is what the tool printed, without the lines that say nothing about the failure.
	output string
	// err is how the tool ended.
	err *commandError
}

// Error returns the line and what the tool says about it.
func (e *RestoreError) Error() string {
	text := fmt.Sprintf("%s: line %d", e.err.argv[0], e.Line)
	if e.Input != "" {
		text += fmt.Sprintf(": %q", e.Input)
	}
	if e.Table != "" {
		text += fmt.Sprintf(" in table %s", e.Table)
	}
	text += ": " + e.err.reason()
	if e.Input == "COMMIT" {
		text += ": the line ends the table, one of the lines above it is wrong"
	}
	return text
}

// Unwrap returns how the tool ended.
func (e *RestoreError) Unwrap() error { return e.err }

// newRestoreError finds the line that iptables-restore refused in data. Without a line in the output, the failure is not
// about the input, and failed is returned as it is.
func newRestoreError(failed *commandError, data []byte) error {
	line, ok := failedLine(failed.output)
	if !ok {
		return failed
	}
	refused := &RestoreError{Line: line, output: failed.output, err: failed}
	refused.Input, refused.Table = inputLine(data, line)
	return refused
}

// Both kinds of tools print the first where they read, and print one of the others where they commit:
//
//	Error occurred at line: 3
//	iptables-restore: line 7 failed
//	iptables-restore: COMMIT expected at line 4
//	line 4: CHAIN_DEL failed (Device or resource busy): chain A
var (
	lineOfReading = lazyregexp.New(`(?m)^Error occurred at line: ([0-9]+)`)
	lineOfCommit  = lazyregexp.New(`(?m)(?:^line ([0-9]+): |: line ([0-9]+) failed|COMMIT expected at line ([0-9]+))`)
)

// failedLine finds the number of the first refused line in the output of iptables-restore.
func failedLine(output string) (line int, ok bool) {
	found := lineOfReading().FindStringSubmatch(output)
	if found == nil {
		found = lineOfCommit().FindStringSubmatch(output)
	}
	if found == nil {
		return 0, false
	}
	line, err := strconv.Atoi(strings.Join(found[1:], ""))
	return line, err == nil && line > 0
}

// inputLine returns the text of a line of restore input and the table that it is in.
func inputLine(data []byte, line int) (text string, table Table) {
	for n := 1; n <= line && len(data) > 0; n++ {
		current, rest, _ := bytes.Cut(data, []byte("\n"))
		if name, ok := bytes.CutPrefix(current, []byte("*")); ok {
			table = Table(bytes.TrimSpace(name))
		}
		if n == line {
			return string(current), table
		}
		if bytes.Equal(current, []byte("COMMIT")) {
			table = ""
		}
		data = rest
	}
	return "", table
}

// withoutNoise trims output and drops the lines that come with every call, or with every failure.
func withoutNoise(output []byte) string {
	var kept []string
	for line := range strings.Lines(string(output)) {
		line = strings.TrimSpace(line)
		if line != "" && line != "Ignoring deprecated --wait-interval option." && !strings.HasPrefix(line, "Try `") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// quoted quotes the arguments that a reader could not tell apart otherwise.
func quoted(argv []string) []string {
	out := slices.Clone(argv)
	for i, arg := range out {
		if arg == "" || strings.ContainsAny(arg, " \t\n\"'`$\\") {
			out[i] = strconv.Quote(arg)
		}
	}
	return out
}

// containsAny says whether text contains one of the words.
func containsAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}
