package ipset

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
)

// run is one run of ipset. What the tool's library keeps from one command to the next is kept here, and so are its ways: an error goes
// into a report, which may be added to before it is printed, and it empties the message that is being made.
type run struct {
	*Tool
	in *bufio.Reader // the standard input

	exist, quiet, sorted   bool
	namesOnly, headersOnly bool
	output                 string // the mode; "" as long as none was chosen
	file                   string
	hasFile                bool

	message message
	report  report
	known   knownSets
	line    int // of restore that errors name, 0: none
	reached int // the line of restore that was read last, 0: none
	shell   bool

	sent    command           // the command that was sent last
	checked map[*setType]bool // types that the kernel was asked for
	// behind says that an answer of the kernel was left unread: a list of a set that is not there gets two errors. From then on the tool takes
	// each answer for that of the next question, and believes none.
	behind  bool
	pending pendingChanges
	// begun says that the beginning of a message stands in the buffer, of a command that lacked a name. The next command of the shell sends it.
	begun bool
	out   []byte // what is printed once the kernel has answered
}

func (t *Tool) newRun() *run {
	return &run{Tool: t, in: bufio.NewReader(t.Stdin), checked: map[*setType]bool{}}
}

// severity is how bad a report is.
type severity uint8

const (
	sevNone severity = iota
	sevWarning
	sevNotice // an error that has a text of its own
	sevError
)

// report is what the tool has to say at the end of a command.
type report struct {
	severity severity
	line     int // of restore, 0: none is named
	text     string
}

// maxReport is the length of a report's text without the end of its last line.
const maxReport = 1022

// note adds to the report. What is worse takes the place of what is not so bad, and an error in a line of restore that of all before.
func (r *run) note(how severity, format string, args ...any) {
	if r.report.severity != sevNone && r.report.severity < how {
		r.report = report{}
	}
	if how == sevError && r.line != 0 {
		r.report = report{line: r.line}
	}
	r.report.text += fmt.Sprintf(format, args...)
	if limit := maxReport - len(r.report.where()); len(r.report.text) > limit {
		r.report.text = r.report.text[:max(limit, 0)]
	}
	r.report.text += "\n"
	r.report.severity = how
	if how == sevError {
		r.message = message{}
	}
}

func (p *report) where() string {
	if p.line == 0 {
		return ""
	}
	return fmt.Sprintf("Error in line %d: ", p.line)
}

// errReported is the error of whoever has said in the report what is wrong.
var errReported = errors.New("the report says it")

func (r *run) fail(format string, args ...any) error {
	r.note(sevError, format, args...)
	return errReported
}

func (r *run) syntaxError(format string, args ...any) error {
	return r.fail("Syntax error: "+format, args...)
}

// refused is fail with what the kernel says.
func (r *run) refused(err error) error { return r.fail("%s", err.Error()) }

// exit ends the program.
type exit struct {
	status int
	line   int
	text   string // of an error
}

// Error is the error's text.
func (e *exit) Error() string { return e.text }

// isExit says that the program ends with the error.
func isExit(err error) bool {
	var e *exit
	return errors.As(err, &e)
}

// The exit statuses.
const (
	statusFailed = 1
	statusUsage  = 2
	statusNoFile = 255
)

// usage is a mistake in the use of the tool, which ends it, but not the shell.
func (r *run) usage(format string, args ...any) error {
	return r.quit(statusUsage, 0, fmt.Sprintf(format, args...)+"\n")
}

// bug is what the tool takes for a mistake of its own.
func (r *run) bug(format string, args ...any) error {
	return r.quit(statusFailed, 0, fmt.Sprintf(format, args...)+"\n")
}

// quit prints an error and ends the tool, but not the shell.
func (r *run) quit(status, line int, text string) error {
	where := report{line: line}
	if !r.quiet || r.shell {
		fmt.Fprintf(r.Stderr, "ipset %s: %s%s", version, where.where(), text)
		if status == statusUsage {
			fmt.Fprintln(r.Stderr, "Try `ipset help' for more information.")
		}
	}
	if r.shell {
		r.report = report{}
		return errReported
	}
	if line == 0 {
		line = r.line
	}
	return &exit{status, line, strings.TrimSuffix(text, "\n")}
}

// settle prints the report and ends the tool, but not the shell. Only warnings leave the exit status at 0.
func (r *run) settle() error {
	p := r.report
	switch {
	case p.severity == sevError:
		return r.quit(statusFailed, p.line, p.text)
	case p.severity == sevNone, r.quiet:
	case p.severity == sevWarning:
		fmt.Fprintf(r.Stderr, "Warning: %s", p.text)
	default:
		fmt.Fprint(r.Stderr, p.text)
	}
	if r.shell {
		r.report = report{}
		return errReported
	}
	if p.severity <= sevWarning {
		return &exit{}
	}
	return &exit{status: statusFailed, text: strings.TrimSuffix(p.text, "\n")}
}

// version is what the tool says its version is.
const version = "v7.17"

const protocol = 7
