package quiet

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// line is a CPU's line of Linux 6.18 with a queue of that length.
func line(queue string) string {
	return "00599614 00000000 00000002" + strings.Repeat(" 00000000", 8) + " " + queue + " 00000001 00000000 00000000\n"
}

func TestQueued(t *testing.T) {
	for name, row := range map[string]struct {
		text string
		want uint64
		err  string
	}{
		"empty queues":           {line("00000000") + line("00000000"), 0, ""},
		"packets of two CPUs":    {line("00000002") + line("0000001f"), 33, ""},
		"no CPU":                 {"", 0, ""},
		"a kernel without":       {strings.Repeat("00000000 ", 11) + "\n", 0, "no lengths of queues"},
		"not a number":           {line("x"), 0, "length of a queue"},
		"more than such numbers": {line("100000000"), 0, "length of a queue"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := queued(row.text)
			if row.err != "" {
				require.ErrorContains(t, err, row.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, row.want, got)
		})
	}
}
