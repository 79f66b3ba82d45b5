package document

import (
	"fmt"
	"strings"
)

// Position is a place in an input. Line and Column count from 1; 0 is unknown.
type Position struct {
	File         string
	Line, Column int
}

// String prints the position as file:line:column, as far as it is known.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Error is one thing that is wrong with an input.
type Error struct {
	Position
	// Msg says what is wrong, and what to do where that is not plain.
	Msg string
	Err error // the cause, where there is one
}

// Error prints "file:line:column: message".
func (e *Error) Error() string {
	return e.String() + ": " + e.Msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errors are all the things found wrong with an input, in input order, at most
// maxErrors of them.
type Errors []*Error

// maxErrors keeps a report readable: an input with more faults than that is
// usually something else than was meant.
const maxErrors = 20

// Error prints one error on each line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives errors.Is and errors.As the single errors.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, one := range e {
		out[i] = one
	}
	return out
}
