// Package race tells tests whether the race detector watches them.
//
// The detector makes a walk of a packet ten times slower. If a test does the same in one goroutine with a hundred scenario files or seeds,
// the last of them has no more races than the first. So with the detector the test takes a part of them, always the same one, and without
// it all. A long test that starts no goroutine at all does not run with the detector (OneGoroutine). CI runs the tests of packages that
// start goroutines (internal/race/packages) both ways, all others without, so each case is judged there every time.
//
// A test with goroutines of its own always takes all cases. The package stands beside the
// line and imports nothing of it.
package race
