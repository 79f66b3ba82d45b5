package toolrun

import (
	"fmt"
	"strings"
)

// Run is what one run of a tool gave.
type Run struct {
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
	Status int    `json:"status,omitempty"`
}

// Lines are the outputs line by line, and the exit status.
func (r *Run) Lines() []string {
	var lines []string
	for line := range strings.Lines(r.Stdout) {
		lines = append(lines, fmt.Sprintf("1> %q", line))
	}
	for line := range strings.Lines(r.Stderr) {
		lines = append(lines, fmt.Sprintf("2> %q", line))
	}
	return append(lines, fmt.Sprintf("exit %d", r.Status))
}

// CommandLine is a command as people type it, behind their shell's "$".
func CommandLine(argv []string) string {
	text := "$"
	for _, a := range argv {
		if a == "" || strings.ContainsAny(a, " \"'\\!*") {
			a = fmt.Sprintf("%q", a)
		}
		text += " " + a
	}
	return text
}
