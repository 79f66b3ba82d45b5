// Package race tells tests whether the race detector watches them.
//
// It makes a walk of a packet ten times slower. What a test does in one goroutine over and
// over, with a hundred scenario files or seeds, has no more races in the last of them than
// in the first: with the detector it takes a part of them, always the same one, and without
// all. A long test that starts no goroutine at all is left out with it (OneGoroutine).
// CI runs the tests of packages that start goroutines (internal/race/packages) both ways, all others without, so each case is judged
// there every time.
//
// A test with goroutines of its own always takes all cases. The package stands beside the
// line and imports nothing of it.
package race
