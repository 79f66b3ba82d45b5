package fakeipt

import (
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/internal/toolexec"
)

// Exec returns the kernel's tools as programs that can be run. Programs of other names are not found.
func (k *Kernel) Exec() exec.Interface {
	return &toolexec.Exec{Tools: k, Known: k.Has, Prompt: true}
}

// Has says whether a program is one of the namespace's tools. A folder in front of its name does not matter.
func (k *Kernel) Has(name string) bool { return k.has(name) || k.other(name) != nil }

// Tools runs a tool. A Kernel does, and whatever keeps the kernel between two runs.
type Tools = toolexec.Tools

// ExecOver returns tools as programs that can be run. Programs whose name is not known are not found.
func ExecOver(tools Tools, known func(name string) bool) exec.Interface {
	return &toolexec.Exec{Tools: tools, Known: known}
}
