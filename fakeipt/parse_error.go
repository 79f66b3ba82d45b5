package fakeipt

import (
	"fmt"
	"strings"
)

// ParseError is input that is not understood, with its place.
type ParseError struct {
	File         string
	Line, Column int // from 1; 0 where it is not known
	Token        string
	Msg          string
}

// Error is "FILE:LINE:COLUMN: MESSAGE (at TOKEN)".
func (e *ParseError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Column > 0 {
		fmt.Fprintf(&b, ":%d", e.Column)
	}
	b.WriteString(": ")
	b.WriteString(e.Msg)
	if e.Token != "" {
		fmt.Fprintf(&b, " (at %q)", e.Token)
	}
	return b.String()
}
