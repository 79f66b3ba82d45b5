// Package interrupt makes programs that tests start react to SIGINT, like programs of a terminal. It is for tests only.
//
// A shell without job control makes programs in the background ignore SIGINT (POSIX, 2.11 Signals and Error Handling), and every program
// that they start ignores it, too: `make test &` in a script. Then even a shell cannot trap it.
package interrupt

import (
	"os"
	"os/signal"
	"testing"
)

// Heard has the programs that are started before the test ends be interrupted by os.Interrupt, whoever runs the test.
func Heard(tb testing.TB) {
	tb.Helper()
	if !signal.Ignored(os.Interrupt) {
		return
	}
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // a signal with a handler has its default in a program that is started
	tb.Cleanup(func() { signal.Ignore(os.Interrupt) })
}
