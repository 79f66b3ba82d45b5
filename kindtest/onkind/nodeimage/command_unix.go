//go:build unix

package nodeimage

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a program the first of a group of processes, which ends with it.
func ownGroup(program *exec.Cmd, private bool) {
	program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if private {
		mountApart(program.SysProcAttr)
	}
	program.Cancel = func() error { return syscall.Kill(-program.Process.Pid, syscall.SIGKILL) }
}
