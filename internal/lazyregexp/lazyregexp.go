// Package lazyregexp compiles a regular expression when it is first used. Commands that do not use it start without the time and the memory
// for it.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns what gives the expression of a text. Its first call panics if the text is none.
func New(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
