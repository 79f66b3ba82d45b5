package bothkernels

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/fakekernel"
)

// TestDifferences has two fake kernels, one of which somebody has changed.
func TestDifferences(t *testing.T) {
	for name, test := range map[string]struct {
		other string // what the second kernel has been told alone
		argv  string
		input string
		want  string // in what is noted; empty: nothing is
	}{
		"the same":        {argv: "-f -", input: "add table ip t\n"},
		"another listing": {other: "add table ip t", argv: "list ruleset", want: "stdout, line 1"},
		"another status":  {other: "add table ip t", argv: "create table ip t", want: "status: real 0, fake 1"},
		"another message": {other: "add table ip t", argv: "create table ip t", want: "stderr, line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			real, fake := fakekernel.New(fakekernel.Options{}), fakekernel.New(fakekernel.Options{})
			if test.other != "" {
				assert.NoError(t, fake.Exec().Command("nft", strings.Fields(test.other)...).Run())
			}
			both := New(real.Exec(), fake.Exec())
			cmd := both.Exec().Command("/usr/sbin/nft", strings.Fields(test.argv)...)
			cmd.SetStdin(strings.NewReader(test.input))
			_, err := cmd.CombinedOutput()
			assert.NoError(t, err, "the answer is the first kernel's")
			noted := strings.Join(both.Differences(), "")
			assert.Contains(t, noted, test.want)
			assert.Equal(t, test.want == "", noted == "", noted)
			assert.Equal(t, 1, both.Calls())
			assert.Empty(t, both.Differences(), "they were asked for")
		})
	}
}
