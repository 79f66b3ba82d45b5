package trackrecord

import (
	"embed"
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

// faultSource is the package that the patches use, with a fault that is on where the environment names none. It is in the overlay only.
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

// patchFiles are the faults: NAME.patch has the one of that name behind its switch, fault.On or a function like it.
//
//go:embed patches/*.patch
var patchFiles embed.FS

// Patches are the faults as changes of the source, in the order of Faults. Each applies to the module alone (git apply --check); all
// of them together make the build that has every fault. None of them imports the package of the switches, which most of the files
// need for several of them: Overlay does.
func Patches() ([]overlay.Patch, error) {
	var patches []overlay.Patch
	for _, f := range Faults() {
		text, err := patchFiles.ReadFile("patches/" + f.Name + ".patch")
		if err != nil {
			return nil, fmt.Errorf("fault %s: %w", f.Name, err)
		}
		patches = append(patches, overlay.Patch{Name: f.Name, Text: text})
	}
	return patches, nil
}

// Overlay returns the files of the module in the folder root with all faults.
func Overlay(root string) (*overlay.Overlay, error) {
	patches, err := Patches()
	if err != nil {
		return nil, err
	}
	o := overlay.New(root)
	if err := o.Patch(patches...); err != nil {
		return nil, err
	}
	for _, file := range o.Files() {
		source, err := o.Source(file)
		if err == nil {
			source, err = overlay.Import(source, module+"/internal/fault")
		}
		if err == nil {
			err = o.Put(file, source)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return o, o.Put(faultFile, faultSource(""))
}

// SwitchOn has the build of an Overlay one of the faults where the environment names none, as in a container that somebody else starts.
func SwitchOn(o *overlay.Overlay, fault string) error {
	if !slices.ContainsFunc(Faults(), func(f Fault) bool { return f.Name == fault }) {
		return fmt.Errorf("there is no fault %q", fault)
	}
	return o.Put(faultFile, faultSource(fault))
}
