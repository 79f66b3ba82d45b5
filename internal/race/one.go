package race

import "testing"

// OneGoroutine ends a test here if the race detector is in this build. It is for long tests that start no goroutine and use no code that
// starts one, in a package that has others: the detector finds nothing in them, and CI runs them without it.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if Enabled {
		t.Skip("it has one goroutine, so that there is nothing for the race detector: go test without -race has it")
	}
}
