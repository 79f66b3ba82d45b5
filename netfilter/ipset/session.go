package ipset

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// session is what the tool's library keeps from one command to the next: the message that is being made, and what is to be said. An error
// goes into the report, which may be added to before it is printed, and it empties the message.
type session struct {
	stderr  io.Writer
	message message
	report  report
	line    int  // of restore that errors name, 0: none
	quiet   bool // -q
	shell   bool
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
func (s *session) note(how severity, format string, args ...any) {
	if s.report.severity != sevNone && s.report.severity < how {
		s.report = report{}
	}
	if how == sevError && s.line != 0 {
		s.report = report{line: s.line}
	}
	s.report.text += fmt.Sprintf(format, args...)
	if limit := maxReport - len(s.report.where()); len(s.report.text) > limit {
		s.report.text = s.report.text[:max(limit, 0)]
	}
	s.report.text += "\n"
	s.report.severity = how
	if how == sevError {
		s.message = message{}
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

func (s *session) fail(format string, args ...any) error {
	s.note(sevError, format, args...)
	return errReported
}

func (s *session) syntaxError(format string, args ...any) error {
	return s.fail("Syntax error: "+format, args...)
}

// refused is fail with what the kernel says.
func (s *session) refused(err error) error { return s.fail("%s", err.Error()) }

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
func (s *session) usage(format string, args ...any) error {
	return s.quit(statusUsage, 0, fmt.Sprintf(format, args...)+"\n")
}

// bug is what the tool takes for a mistake of its own.
func (s *session) bug(format string, args ...any) error {
	return s.quit(statusFailed, 0, fmt.Sprintf(format, args...)+"\n")
}

// quit prints an error and ends the tool, but not the shell.
func (s *session) quit(status, line int, text string) error {
	where := report{line: line}
	if !s.quiet || s.shell {
		fmt.Fprintf(s.stderr, "ipset %s: %s%s", version, where.where(), text)
		if status == statusUsage {
			fmt.Fprintln(s.stderr, "Try `ipset help' for more information.")
		}
	}
	if s.shell {
		s.report = report{}
		return errReported
	}
	if line == 0 {
		line = s.line
	}
	return &exit{status, line, strings.TrimSuffix(text, "\n")}
}

// settle prints the report and ends the tool, but not the shell. Only warnings leave the exit status at 0.
func (s *session) settle() error {
	p := s.report
	switch {
	case p.severity == sevError:
		return s.quit(statusFailed, p.line, p.text)
	case p.severity == sevNone, s.quiet:
	case p.severity == sevWarning:
		fmt.Fprintf(s.stderr, "Warning: %s", p.text)
	default:
		fmt.Fprint(s.stderr, p.text)
	}
	if s.shell {
		s.report = report{}
		return errReported
	}
	if p.severity <= sevWarning {
		return &exit{}
	}
	return &exit{status: statusFailed, text: strings.TrimSuffix(p.text, "\n")}
}

// complete says what is missing in a message that an error has emptied.
func (s *session) complete(c command) error {
	m := &s.message
	switch {
	case c == cmdRename || c == cmdSwap:
		if !m.has(optName) {
			return s.fail("Invalid %s command: missing from-setname", c.word())
		}
	case c == cmdCreate || c == cmdAdd || c == cmdDel || c == cmdTest:
		if !m.has(optName) {
			return s.fail("Invalid %s command: missing setname", c.word())
		}
	}
	return nil
}
