package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

const (
	// collectSeldom is for commands that leave next to nothing behind that lives on: collecting is most of the work otherwise. From
	// collectFrom bytes on they collect as often as they must, as one case in a thousand keeps hundreds of megabytes for a while.
	collectSeldom = 800
	collectFrom   = 2 << 30
	// collectOften is for commands that keep a whole cluster and leave much behind beside it, which would take twice as much memory.
	collectOften = 35
	// collectTool is for tools, which read a state, change it and end.
	collectTool = 400
	// collectMore is for a command that keeps a cluster as well, and reads and writes one thing of it after the other.
	collectMore = 90
	// collectLate is for the first collection of a command that mostly ends before it has 8 MB: what collecting itself takes is more than
	// the 2 MB that a first collection at 4 MB finds.
	collectLate = 200
)

// collect lets so many percent of what lives be left behind before it is collected, unless the environment says how much. It returns the
// way back.
func collect(percent int) (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before, most := debug.SetGCPercent(percent), debug.SetMemoryLimit(-1)
	if percent == collectSeldom && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(collectFrom)
	}
	return func() {
		debug.SetGCPercent(before)
		debug.SetMemoryLimit(most)
	}
}

// collectFirstLate is collect for the first collection alone. From then on, as much may be left behind as before.
func collectFirstLate() {
	runtime.AddCleanup(new([16]byte), func(restore func()) { restore() }, collect(collectLate))
}
