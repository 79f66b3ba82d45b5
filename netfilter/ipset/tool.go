package ipset

import (
	"errors"
	"io"
	"io/fs"
)

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

// LineError is a line that Load does not take.
type LineError struct {
	Line int // from 1
	Err  error
}

// Error is the error without the line.
func (e *LineError) Error() string { return e.Err.Error() }

// Run runs ipset with the words behind its name and returns its exit status.
func (t *Tool) Run(args []string) int {
	var e *exit
	if errors.As(t.newRun().execute(args), &e) {
		return e.status
	}
	return 0
}

// Load makes the sets of "ipset save" text, which is the standard input. Errors are *LineError.
func (t *Tool) Load() error {
	var e *exit
	if errors.As(t.newRun().restore(), &e) && e.status != 0 {
		return &LineError{Line: e.line, Err: e}
	}
	return nil
}

// references counts what names each set: rules and sets of sets.
func (t *Tool) references() map[string]int {
	count := t.Named()
	t.Sets.lock.RLock()
	defer t.Sets.lock.RUnlock()
	for _, s := range t.Sets.order {
		for _, k := range s.order {
			count[k.name]++
		}
	}
	return count
}
