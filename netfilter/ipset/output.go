package ipset

import (
	"slices"

	"github.com/chainwalk/chainwalk/internal/libc"
)

// output is how a run prints sets, and where.
type output struct {
	*Tool
	*session
	mode                           string // "" as long as none was chosen
	sorted, namesOnly, headersOnly bool
	file                           string // of -f
	hasFile                        bool
	begun                          []byte // what is printed before the next list
}

func (o *output) setMode(mode string) error {
	if !slices.Contains([]string{"plain", "save", "xml"}, mode) {
		return o.syntaxError("unknown output mode '%s'", mode)
	}
	o.mode = mode
	return nil
}

func (o *output) setFile(name string) error {
	if o.hasFile {
		return o.usage("-file option cannot be used when full io is activated")
	}
	o.file, o.hasFile = name, true
	return nil
}

// open begins the file of -f anew.
func (o *output) open() error {
	if err := o.WriteFile(o.file, nil, 0o644); err != nil {
		return o.fail("Cannot open %s for writing: %s", o.file, libc.FileErrorText(err))
	}
	return nil
}

// listing is how a command prints sets. The first one decides the mode of those behind it, if no option has.
func (o *output) listing(c command) listing {
	if o.mode == "" {
		o.mode = map[command]string{cmdList: "plain", cmdSave: "save"}[c]
	}
	return listing{
		mode:        o.mode,
		sorted:      o.sorted,
		namesOnly:   o.namesOnly && o.mode != "save",
		headersOnly: o.headersOnly,
		elements:    !o.headersOnly || c == cmdSave || o.mode == "save",
	}
}

// print writes to the standard output or the file of -f.
func (o *output) print(text []byte) error {
	if !o.hasFile {
		if _, err := o.Stdout.Write(text); err != nil {
			return &exit{status: statusFailed, text: err.Error()}
		}
		return nil
	}
	if err := o.WriteFile(o.file, text, 0o644); err != nil {
		return o.fail("Cannot open %s for writing: %s", o.file, libc.FileErrorText(err))
	}
	return nil
}
