package nftables

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/utils/exec"
)

// commandError is a run of nft that did not do what it was asked.
type commandError struct {
	argv []string
	// exitStatus is what nft ended with, -1 if it could not be started or was killed.
	exitStatus int
	// complaint is what nft wrote to its standard error.
	complaint string
	// err is the error of running the command. It is context.DeadlineExceeded (errors.Is) after Options.TimeLimit.
	err error
}

// shownLines is how much of nft's complaint an error shows: the reason, the command, and the mark below it. nft may complain of each of
// a hundred thousand commands.
const shownLines = 3

// shownBytes is how much of a line it shows: a command may have a thousand elements.
const shownBytes = 300

func newCommandError(argv []string, err error, complaint string) *commandError {
	failed := &commandError{argv: argv, exitStatus: -1, complaint: complaint, err: err}
	var exit exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		failed.exitStatus = exit.ExitStatus()
	}
	return failed
}

// Error returns the command, how it ended, the beginning of what nft wrote and, where that is known, what to do.
func (e *commandError) Error() string {
	text := strings.Join(e.argv, " ") + ": "
	if e.exitStatus < 0 {
		text += e.err.Error()
	} else {
		text += fmt.Sprintf("exit status %d", e.exitStatus)
	}
	if shown := e.shown(); shown != "" {
		text += ": " + shown
	}
	if hint := e.hint(); hint != "" {
		text += ": " + hint
	}
	return text
}

// shown is the first error of the complaint.
func (e *commandError) shown() string {
	lines := strings.Split(strings.TrimSpace(e.complaint), "\n")
	more := ""
	if len(lines) > shownLines {
		more = fmt.Sprintf("\n(and %d more lines)", len(lines)-shownLines)
		lines = lines[:shownLines]
	}
	for i, line := range lines {
		if len(line) > shownBytes {
			lines[i] = line[:shownBytes] + "..."
		}
	}
	return strings.Join(lines, "\n") + more
}

// hint is what to do about the failure, if the reason is known.
func (e *commandError) hint() string {
	switch {
	case errors.Is(e.err, exec.ErrExecutableNotFound):
		return "install nft, or name it in Options.Tool"
	case strings.Contains(e.complaint, "Operation not permitted"):
		return "run as root, or with CAP_NET_ADMIN"
	}
	return ""
}

// Unwrap returns the error of running the command.
func (e *commandError) Unwrap() error { return e.err }

// errBusy is what a *commandError is (errors.Is) if the kernel says that something is in use.
var errBusy = errors.New("in use")

// Is says whether the failure is ErrNotFound or errBusy. nft has one exit status for all, so its words decide: those of its first error.
func (e *commandError) Is(target error) bool {
	first, _, _ := strings.Cut(e.complaint, "\n")
	switch target {
	case ErrNotFound:
		return e.exitStatus > 0 && strings.Contains(first, "No such file or directory")
	case errBusy:
		return e.exitStatus > 0 && strings.Contains(first, "Device or resource busy")
	}
	return false
}
