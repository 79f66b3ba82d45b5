package document

import (
	"errors"
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
	var parts []string
	if p.File != "" {
		parts = append(parts, p.File)
	}
	for _, number := range []int{p.Line, p.Column} {
		if number == 0 {
			break
		}
		parts = append(parts, fmt.Sprint(number))
	}
	return strings.Join(parts, ":")
}

// Error is one thing that is wrong with an input.
type Error struct {
	Position
	// Path is the value that is wrong, such as routes[3].dst; empty where the message names it or the place says it all.
	Path string
	// Msg says what is wrong, and what to do where that is not plain.
	Msg string
	err error // the cause, where there is one
}

// Error prints "file:line:column: path: message".
func (e *Error) Error() string {
	var b strings.Builder
	for _, part := range []string{e.String(), e.Path} {
		if part != "" {
			b.WriteString(part + ": ")
		}
	}
	return b.String() + e.Msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

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

// FirstPosition is where the first of the mistakes is that an error tells of; the zero Position if it tells of none.
func FirstPosition(err error) Position {
	var list Errors
	var one *Error
	switch {
	case errors.As(err, &list) && len(list) > 0:
		return list[0].Position
	case errors.As(err, &one):
		return one.Position
	}
	return Position{}
}
