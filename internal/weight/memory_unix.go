//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// memory is the most that a process had resident, in bytes.
func memory(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin":
		return int64(usage.Maxrss) //nolint:unconvert // 32 bits on some systems
	}
	return int64(usage.Maxrss) * 1024 //nolint:unconvert // 32 bits on some systems
}
