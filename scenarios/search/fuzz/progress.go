package fuzz

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/chainwalk/chainwalk/scenarios/search/trial"
)

// Progress is how far a run has come.
type Progress struct {
	trial.Figures
	// Failures are how many kinds of failures were found: clauses, or causes where they are known.
	Failures int
	// Shrunk is how many of the failures the run has shrunk. It does so when all cases are judged.
	Shrunk int
}

// How often a run tells how far it has come.
const (
	atTerminal = time.Second // on a line that changes
	inFile     = time.Minute // on a line of its own
)

// Telling says how a run goes on, and in the end how fast it went. That is no part of the result, which is always the same.
type Telling struct {
	to          io.Writer
	terminal    bool
	now         func() time.Time
	begin, last time.Time
}

// Tell says it to somebody who looks at a terminal once a second, and to a file, which may be a log, once a minute.
func Tell(to io.Writer) *Telling {
	t := &Telling{to: to, terminal: isTerminal(to), now: time.Now}
	t.begin = t.now()
	t.last = t.begin
	return t
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&fs.ModeCharDevice != 0
}

// Progress tells how far a run has come, if it is time. It is for Options.Progress.
func (t *Telling) Progress(p Progress) {
	every, before, after := inFile, "", "\n"
	if t.terminal {
		every, before, after = atTerminal, "\r", "\x1b[K"
	}
	now := t.now()
	if now.Sub(t.last) < every {
		return
	}
	t.last = now
	text := fmt.Sprintf("%s: %d cases, %d states, %d connections, %d clauses, %d failures",
		now.Sub(t.begin).Round(time.Second), p.Cases, p.States, p.Connections, len(p.Clauses), p.Failures)
	if p.Shrunk > 0 {
		text += fmt.Sprintf(", %d of them shrunk", p.Shrunk)
	}
	fmt.Fprint(t.to, before+text+after)
}

// Rate tells how fast it went.
func (t *Telling) Rate(f *trial.Figures) {
	before, after := "", "\n"
	if t.terminal {
		before, after = "\r", "\x1b[K\n"
	}
	took := t.now().Sub(t.begin).Seconds()
	seconds := max(took, 0.001)
	fmt.Fprintf(t.to, "%s%.1fs: %.0f states and %.0f connections a second%s", before, took, float64(f.States)/seconds,
		float64(f.Connections)/seconds, after)
}
