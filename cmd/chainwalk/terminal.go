package main

import (
	"os"

	"golang.org/x/term"
)

// isTerminal reports whether somebody looks at what is written to a stream, or types what is read from it.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
