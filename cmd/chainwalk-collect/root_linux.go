package main

import (
	"fmt"
	"os"
	"syscall"
)

// programs are the folders in which a node has its tools. An image from scratch says nothing about them.
const programs = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin"

// enter makes a folder the root of this program and of those that it runs.
func enter(root string) error {
	if err := syscall.Chroot(root); err != nil {
		return fmt.Errorf("--root %s: %w (it takes the capability SYS_CHROOT, and the folder)", root, err)
	}
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("--root %s: %w", root, err)
	}
	if _, err := os.Stat("/proc/self/net"); err != nil {
		return fmt.Errorf("--root %s: it has no /proc of the machine: mount the machine's root folder there, with what is mounted below it: %w",
			root, err)
	}
	return os.Setenv("PATH", programs)
}
