package kerneltest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// told is a test that is told what became of it.
type told struct {
	testing.TB
	skipped, failed bool
}

func (t *told) Helper()               {}
func (t *told) Skipf(string, ...any)  { t.skipped = true }
func (t *told) Fatalf(string, ...any) { t.failed = true }

func TestNeed(t *testing.T) {
	for _, row := range []struct {
		about, value    string
		tools           []string
		skipped, failed bool
	}{
		{about: "not asked", skipped: true},
		{about: "not asked, and a tool is missing", tools: []string{"no-such-tool"}, skipped: true},
		{about: "asked, and a tool is missing", value: "1", tools: []string{"no-such-tool"}, failed: true},
		{about: "a value without a meaning", value: "yes", failed: true},
		{about: "0 has no meaning either", value: "0", failed: true},
	} {
		t.Run(row.about, func(t *testing.T) {
			t.Setenv(variable, row.value)
			test := &told{}
			Need(test, row.tools...)
			assert.Equal(t, row.skipped, test.skipped, "skipped")
			assert.Equal(t, row.failed, test.failed, "failed")
		})
	}
}
