package libc

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGetopt(t *testing.T) {
	longs := []LongOption{{Name: "count", Letter: 'c'}, {Name: "counters", Letter: 'C'}, {Name: "table", Letter: 't', Arg: ArgRequired},
		{Name: "wait", Letter: 'w', Arg: ArgOptional}}
	for line, want := range map[string]string{
		"-ct nat rest":     "c t=nat | rest",
		"-tnat":            "t=nat |",
		"--tab=nat":        "t=nat |",
		"--table nat":      "t=nat |",
		"--wait 5":         "w | 5",
		"--wait=5":         "w=5 |",
		"-w5":              "w=5 |",
		"a -c -- -c":       "c | a -c",
		"--count":          "c |",
		"--co":             "? | 2> prog: option '--co' is ambiguous; possibilities: '--count' '--counters'",
		"--count=1":        "? | 2> prog: option '--count' doesn't allow an argument",
		"--table":          "? | 2> prog: option '--table' requires an argument",
		"--nonesuch=1":     "? | 2> prog: unrecognized option '--nonesuch=1'",
		"-x":               "? | 2> prog: invalid option -- 'x'",
		"-t":               "? | 2> prog: option requires an argument -- 't'",
		"-c - --wait -t x": "c w t=x | -",
	} {
		var stderr bytes.Buffer
		g := Getopt{Program: "prog", Stderr: &stderr, Shorts: "ct:w::", Longs: longs, Args: strings.Fields(line)}
		var got []string
		for {
			letter, arg, given := g.Next()
			if letter == GetoptEnd {
				break
			}
			word := string(letter)
			if given {
				word += "=" + arg
			}
			got = append(got, word)
		}
		got = append(got, "|")
		got = append(got, g.Rest...)
		if stderr.Len() > 0 {
			got = append(got, "2> "+strings.TrimSpace(stderr.String()))
		}
		assert.Equal(t, want, strings.Join(got, " "), line)
	}
}
