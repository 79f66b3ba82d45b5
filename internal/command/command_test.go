package command

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestStatuses(t *testing.T) {
	for name, c := range map[string]struct {
		args    []string
		held    bool
		err     error
		status  int
		printed string
	}{
		"it holds":          {args: []string{"-n", "2", "x"}, held: true, status: Held, printed: "looked\n"},
		"it does not":       {args: []string{"x"}, status: Failed, printed: "looked\n"},
		"it could not look": {args: []string{"x"}, err: errors.New("no file"), status: Broken, printed: "looked\nlook: no file\n"},
		"help":              {args: []string{"-h"}, status: Held, printed: "Usage of look:\n  -n int\n    \thow many (default 1)\n"},
		"more help": {args: []string{"-n", "2", "--help"}, status: Held,
			printed: "Usage of look:\n  -n int\n    \thow many (default 1)\n"},
		"no such flag": {args: []string{"-m"}, status: Broken,
			printed: "flag provided but not defined: -m\nUsage of look:\n  -n int\n    \thow many (default 1)\n"},
		"nothing to look at": {args: []string{"-n", "2"}, status: Broken, printed: "Usage of look:\n  -n int\n    \thow many (default 1)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			command := Command{
				Name:  "look",
				Flags: func(flags *flag.FlagSet) { flags.Int("n", 1, "how many") },
				Valid: func(args []string) bool { return len(args) == 1 },
				Look: func(_ context.Context, args []string, out io.Writer) (bool, error) {
					assert.Equal(t, []string{"x"}, args)
					_, _ = io.WriteString(out, "looked\n")
					return c.held, c.err
				},
			}
			assert.Equal(t, c.status, command.Run(t.Context(), c.args, &out, &out))
			assert.Equal(t, c.printed, out.String())
		})
	}
}
