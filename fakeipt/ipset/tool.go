package ipset

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// version is what the tool says its version is.
const version = "v7.17"

const protocol = 7

// Tool is ipset with what it works on.
type Tool struct {
	Sets *Table
	// Named counts what names each set, besides sets of sets. No rule may change as long as the tool runs.
	Named func() map[string]int

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// ReadFile and WriteFile are for the file of -f, as those of package os.
	ReadFile  func(name string) ([]byte, error)
	WriteFile func(name string, text []byte, mode fs.FileMode) error
}

// The exit statuses.
const (
	statusFailed = 1
	statusUsage  = 2
)

// LineError is a line that Load does not take.
type LineError struct {
	Line int // from 1
	Err  error
}

// Error is the error without the line.
func (e *LineError) Error() string { return e.Err.Error() }

// Run runs ipset with the words behind its name and returns its exit status.
func (t *Tool) Run(args []string) int {
	r := t.newRun()
	err := r.command(args)
	if err == nil {
		err = r.commit()
	}
	return r.report(err)
}

// Load makes the sets of "ipset save" text, which is the standard input. Errors are *LineError.
func (t *Tool) Load() error {
	r := t.newRun()
	err := r.restore(nil)
	if err == nil {
		err = r.commit()
	}
	if err != nil {
		return &LineError{Line: r.line, Err: err}
	}
	return nil
}

func (t *Tool) newRun() *run { return &run{Tool: t, created: map[string]Family{}} }

// references counts what names each set: rules and sets of sets.
func (t *Tool) references() map[string]int {
	count := t.Named()
	t.Sets.lock.RLock()
	defer t.Sets.lock.RUnlock()
	for _, s := range t.Sets.order {
		for _, k := range s.order {
			count[k.set]++
		}
	}
	return count
}

// run is one run of ipset.
type run struct {
	*Tool
	exist, quiet, sorted   bool
	namesOnly, headersOnly bool
	output, file           string
	line                   int  // of restore, 0: none
	ended                  bool // restore reads no further: that is what a test that finds its element does
	pending                []pendingChange
	saving                 bool // a save is on its way
	// created are the families of the sets that this run has created, or would have if they had not been there: the tool does not ask the
	// kernel for them.
	created map[string]Family
}

// errNotInSet is the status of test that finds nothing; the text is printed already.
var errNotInSet = errors.New("not in the set")

func (t *run) report(err error) int {
	if err == nil {
		return 0
	}
	switch {
	case errors.Is(err, errNotInSet):
		return statusFailed
	case errors.Is(err, errNoFile):
		return statusNoFile
	}
	status, help := statusFailed, ""
	var e *toolError
	if errors.As(err, &e) && e.usage {
		status, help = statusUsage, "Try `ipset help' for more information.\n"
	}
	if !t.quiet {
		where := ""
		if t.line > 0 && status == statusFailed {
			where = fmt.Sprintf("Error in line %d: ", t.line)
		}
		fmt.Fprintf(t.Stderr, "ipset %s: %s%v\n%s", version, where, err, help)
	}
	return status
}
