package nodeimage

import "syscall"

// mountApart gives a process a mount namespace of its own.
func mountApart(attributes *syscall.SysProcAttr) { attributes.Unshareflags = syscall.CLONE_NEWNS }
