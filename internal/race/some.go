package race

import "github.com/chainwalk/chainwalk/internal/sample"

// Every is n if the race detector is in this build, and 1 if it is not: of every so many cases a test takes one.
func Every(n int) int {
	if Enabled {
		return n
	}
	return 1
}

// Some are every nth of the cases, with the first one, if the race detector is in this build, and all of them if it is not.
func Some[T any](all []T, n int) []T { return sample.Nth(all, Every(n)) }
