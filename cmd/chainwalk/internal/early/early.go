// Package early saves memory before other packages are initialised, which takes more of it than a short command does. Go initialises a
// package as soon as those that it imports are, in the order of their paths, so this one comes before nearly all that allocate.
package early

import "runtime"

// rate is how often Go takes a sample of what is allocated.
var rate = runtime.MemProfileRate

// A sample unwinds a stack, and so does a stack that grows. Both read the tables of the functions on it, and Linux maps 64 KB of the
// program's file where they are read. So no sample is taken, and the stack grows at once to what a trace needs, while it is shallow.
func init() {
	runtime.MemProfileRate = 0
	growStack()
}

//go:noinline
func growStack() {
	var room [64 << 10]byte
	runtime.KeepAlive(&room)
}

// ProfileMemory has Go take samples after all.
func ProfileMemory() { runtime.MemProfileRate = rate }
