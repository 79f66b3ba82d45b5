package sysctl

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// Report is what became of settings.
type Report struct {
	// Changed are the settings that were written.
	Changed []Setting
	// ReadOnly are the settings that have another value and could not be written, since the file system is mounted read-only.
	ReadOnly []Setting
}

// Apply makes settings have the values that they should have. It tries all of them; the error is about each that failed for
// another reason than a read-only file system.
func (f *Files) Apply(settings []Setting) (Report, error) {
	var report Report
	var errs []error
	for _, s := range settings {
		changed, err := f.apply(s)
		switch {
		case errors.Is(err, syscall.EROFS):
			report.ReadOnly = append(report.ReadOnly, s)
		case errors.Is(err, fs.ErrNotExist):
			errs = append(errs, fmt.Errorf("%w: is a kernel module not loaded (nf_conntrack)?", err))
		case err != nil:
			errs = append(errs, err)
		case changed:
			report.Changed = append(report.Changed, s)
		}
	}
	return report, errors.Join(errs...)
}

// apply writes a setting unless it has the value. A value that cannot be read is taken for another one.
func (f *Files) apply(s Setting) (changed bool, err error) {
	old, err := f.read(s.Path)
	if err == nil && (old == s.Value || s.atLeast && old > s.Value) {
		return false, nil
	}
	if s.atLeast && err != nil {
		return false, err // it may be higher
	}
	return true, f.write(s.Path, s.Value)
}

// Warning says what is to be repaired on the node, for its log and an event. It is empty if there is nothing.
func (r *Report) Warning() string {
	if len(r.ReadOnly) == 0 {
		return ""
	}
	wanted := make([]string, len(r.ReadOnly))
	for i, s := range r.ReadOnly {
		wanted[i] = fmt.Sprintf("/%s = %d", s.Path, s.Value)
	}
	return "The node needs repair: its kernel settings are mounted read-only and cannot be changed: " + strings.Join(wanted, ", ") +
		". Mount them writable, or set them on the node itself. Connections may be lost until then"
}
