//go:build unix && !linux

package nodeimage

import "syscall"

// mountApart does nothing: debootstrap, which mounts, is for Linux only.
func mountApart(*syscall.SysProcAttr) {}
