package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// isTerminal reports whether somebody looks at what is written there.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
