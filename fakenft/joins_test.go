package fakenft_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestJoiningTwiceIsRefusedByName holds that a set whose elements are joined is not changed a second time in the transaction that declares
// it with elements: the real tool sends the elements of all commands with the first one there, and the kernel keeps some or refuses others.
func TestJoiningTwiceIsRefusedByName(t *testing.T) {
	const (
		set   = "add table t\nadd set t s { type mark; flags interval; auto-merge; elements = { 1-5, 8-9 }; }\n"
		plain = "add table t\nadd set t s { type mark; flags interval; elements = { 1-5, 8-9 }; }\n"
	)
	for _, test := range []struct{ text, refused string }{
		{set + "add element t s { 6 }\n", ""},
		{set + "add element t s { 6 }\nadd element t s { 7 }\n", ""}, // nft takes them together
		{set + "add element t s { 6-7 }\n", ""},
		{set + "add element t s { 6 }\nadd chain t c\nadd element t s { 7 }\n", "joining elements of s"},
		{set + "delete element t s { 8-9 }\n", "deleting elements that s"},
		{set + "add element t s { 20 }\ndelete element t s { 8-9 }\n", ""},
		{plain + "delete element t s { 8-9 }\nadd element t s { 20 }\n", ""},
	} {
		_, stderr, status := newFuzzed().nft(test.text, "-f", "-")
		if test.refused == "" {
			assert.Zero(t, status, "%s%s", test.text, stderr)
			continue
		}
		assert.Equal(t, 1, status, test.text)
		assert.Contains(t, stderr, "chainwalk does not support "+test.refused, test.text)
	}
}
