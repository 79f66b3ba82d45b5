package fakenft_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestCatchallAmongIntervalsIsRefusedByName holds that an element for all other keys comes into a set of intervals only with its
// declaration, and does not leave it: nft 1.0.6 ends by a signal where it copies such an element, and where it looks for others of a map
// beside one.
func TestCatchallAmongIntervalsIsRefusedByName(t *testing.T) {
	const (
		set = "add table t\nadd set t s { type mark; flags interval; elements = { 5, * }; }\n"
		dup = "add table t\nadd map t s { type mark : mark; flags interval; elements = { 5 : 6, * : 8 }; }\n"
	)
	for _, test := range []struct{ first, text, refused string }{
		{set, "add element t s { 7 }\n", ""},
		{set, "delete element t s { 5 }\n", ""},
		{dup, "add element t s { 7 : 8 }\n", ""},
		{"add table t\nadd set t s { type mark; elements = { 5, * }; }\n", "delete element t s { * }\n", ""},
		{"", set + "add element t s { 7 }\n", "adding an element for all other keys to the intervals of s"},
		{set, "add element t s { 7, * }\n", "adding an element for all other keys"},
		{set, "delete element t s { 5, * }\n", "deleting an element for all other keys from the intervals of s"},
		{dup, "delete element t s { 5 }\n", "deleting intervals from s, which has an element for all other keys"},
	} {
		nft := newFuzzed()
		_, stderr, status := nft.nft(test.first, "-f", "-")
		assert.Zero(t, status, stderr)
		_, stderr, status = nft.nft(test.text, "-f", "-")
		if test.refused == "" {
			assert.Zero(t, status, "%s%s", test.text, stderr)
			continue
		}
		assert.Equal(t, 1, status, test.text)
		assert.Contains(t, stderr, "chainwalk does not support "+test.refused, test.text)
	}
}

// TestVariableBesideElementsIsRefusedByName holds that all elements of a variable are not added beside others: nft 1.0.6 ends by a signal
// where the variable is the first, and never where it is not.
func TestVariableBesideElementsIsRefusedByName(t *testing.T) {
	const start = "define x = { 50 }\nadd table t\nadd set t s { type mark; }\nadd set t r { type mark; }\n"
	for text, refused := range map[string]bool{
		"add element t s $x\nadd element t s { 11 }\n":                true,
		"add element t s { 11 }\nadd element t s $x\n":                true,
		"add element t s $x\nadd element t s $x\n":                    true,
		"add element t s { 11 }\nadd chain t c\nadd element t s $x\n": false,
		"add element t s { 11 }\ncreate element t s $x\n":             false,
		"add element t r { 11 }\nadd element t s $x\n":                false,
		"add element t s { 11 }\nadd element t s { $x }\n":            false,
		"add element t s $x\n":                                        false,
	} {
		_, stderr, status := newFuzzed().nft(start+text, "-f", "-")
		if refused {
			assert.Equal(t, 1, status, text)
			assert.Contains(t, stderr, "chainwalk does not support adding a variable to s beside other elements", text)
			continue
		}
		assert.Zero(t, status, "%s%s", text, stderr)
	}
}
