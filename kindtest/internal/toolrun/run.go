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
