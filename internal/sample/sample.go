// Package sample tells long tests how many of their cases to take.
//
// `go test ./...` is what people run while they work, and what CI runs on each commit. A test that does the same with hundreds of scenario
// files or seeds takes every nth of them there, always the same ones. With CHAINWALK_ALL set (`make test-all`) it takes all of them.
//
// A test takes a sample only if something else has the rest: a make target that CI runs too, or one that is run by hand before a release.
package sample

import "os"

// takesAll says whether tests take all of their cases.
var takesAll = os.Getenv("CHAINWALK_ALL") != ""

// Every is n if a test takes a part of its cases, and 1 if it takes all: of every so many cases it takes one.
func Every(n int) int {
	if takesAll {
		return 1
	}
	return n
}

// Some are every nth of the cases, with the first one, or all of them.
func Some[T any](all []T, n int) []T { return Nth(all, Every(n)) }

// Nth are every nth of the cases, with the first one.
func Nth[T any](all []T, n int) []T {
	var out []T
	for i := 0; i < len(all); i += n {
		out = append(out, all[i])
	}
	return out
}
