package trackrecord

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/overlay"
)

const (
	module    = "github.com/chainwalk/chainwalk"
	faultFile = "internal/fault/fault.go"
)

// faultSource is the package that the edits use, with a fault that is on where the environment names none. It is in the overlay only.
func faultSource(always string) []byte {
	return []byte(strings.Replace(faultTemplate, "ALWAYS", strconv.Quote(always), 1))
}

const faultTemplate = `// Package fault says which fault this process has.
package fault

import (
	"cmp"
	"os"
	"strconv"
	"strings"
)

var on = cmp.Or(os.Getenv("` + Variable + `"), ALWAYS)

// On says whether the fault is switched on.
func On(name string) bool { return on == name }

// Pick returns the first value if the fault is on, else the second.
func Pick[T any](on bool, faulty, sound T) T {
	if on {
		return faulty
	}
	return sound
}

// Octal reads parts of an IPv4 address with leading zeros as octal numbers, if the fault is on.
func Octal(name, text string) string {
	if !On(name) {
		return text
	}
	parts := strings.Split(text, ".")
	for i, part := range parts {
		if number, err := strconv.ParseUint(part, 0, 8); err == nil && len(part) > 1 {
			parts[i] = strconv.FormatUint(number, 10)
		}
	}
	return strings.Join(parts, ".")
}
`

// imports are what edits need besides package fault, by file.
var imports = map[string]string{"proxier/proxier.go": module + "/proxier/conntrack"}

// Overlay returns the edits of the module in the folder root that make all faults
// possible.
func Overlay(root string) (*overlay.Overlay, error) {
	o := overlay.New(root)
	if err := o.Put(faultFile, faultSource("")); err != nil {
		return nil, err
	}
	for _, file := range editedFiles() {
		source, err := o.Source(file)
		if err != nil {
			return nil, err
		}
		if source, err = apply(source, file); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if err := o.Put(file, source); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// SwitchOn has the build of an Overlay one of the faults where the environment names none, as in a container that somebody else starts.
func SwitchOn(o *overlay.Overlay, fault string) error {
	if !slices.ContainsFunc(Faults(), func(f Fault) bool { return f.Name == fault }) {
		return fmt.Errorf("there is no fault %q", fault)
	}
	return o.Put(faultFile, faultSource(fault))
}

func editedFiles() []string {
	var files []string
	for _, e := range edits {
		files = append(files, e.file)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// apply makes all edits of a file.
func apply(source []byte, file string) ([]byte, error) {
	type place struct {
		at int
		edit
	}
	var places []place
	for _, e := range edits {
		if e.file != file {
			continue
		}
		if n := bytes.Count(source, []byte(e.old)); n != 1 {
			return nil, fmt.Errorf("this text is there %d times, not once:\n%s", n, e.old)
		}
		places = append(places, place{at: bytes.Index(source, []byte(e.old)), edit: e})
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	var edited []byte
	done := 0
	for _, p := range places {
		if p.at < done {
			return nil, fmt.Errorf("this text is in that of another edit:\n%s", p.old)
		}
		edited = append(append(edited, source[done:p.at]...), p.now...)
		done = p.at + len(p.old)
	}
	edited = append(edited, source[done:]...)
	for _, needed := range []string{module + "/internal/fault", imports[file]} {
		if needed == "" {
			continue
		}
		var err error
		if edited, err = overlay.Import(edited, needed); err != nil {
			return nil, err
		}
	}
	return edited, nil
}
