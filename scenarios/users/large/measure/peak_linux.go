package main

import (
	"os"
	"syscall"
)

// peak is the largest resident memory that a process had, in bytes; 0 where the system does not say.
func peak(p *os.ProcessState) int64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss * 1024 // getrusage(2) says kilobytes
}
