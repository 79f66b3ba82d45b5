package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExecute(t *testing.T) {
	empty := t.TempDir()
	wrong := filepath.Join(empty, "wrong.yaml")
	require.NoError(t, os.WriteFile(wrong, []byte("settings: {}\nsteps: [{}]\n"), 0o600))
	for name, test := range map[string]struct {
		args    []string
		status  int
		out     string
		message string
	}{
		"a few cases": {
			args: []string{"-cases", "3", "-testdata", "../../testdata"}, out: "differences",
		},
		"a case with an explanation": {
			args: []string{"../../testdata/slice-relabelled.yaml"}, out: "explanation: slice-relabelled",
		},
		"a file that is not there":         {args: []string{"nowhere.yaml"}, status: 2, message: "nowhere.yaml"},
		"a file that is no case":           {args: []string{wrong}, status: 2, message: "step 1 has 0 events"},
		"explanations without their cases": {args: []string{"-cases", "0", "-testdata", empty}, status: 2, message: empty},
		"help":                             {args: []string{"-h"}, message: "how many cases to make"},
		"an unknown flag":                  {args: []string{"-wrong"}, status: 2, message: "-wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errOut strings.Builder
			assert.Equal(t, test.status, execute(test.args, &out, &errOut), out.String()+errOut.String())
			assert.Contains(t, out.String(), test.out)
			assert.Contains(t, errOut.String(), test.message)
		})
	}
}

var duration = regexp.MustCompile(`in \d+m?\d*s\n`)

// What a seed makes is compared in the same way each time. kube-proxy goes by the order of Go maps, which no figure may tell.
func TestSameSeedSameFigures(t *testing.T) {
	var first string
	for range 2 {
		var out, errOut strings.Builder
		require.Zero(t, execute([]string{"-seed", "1", "-cases", "30", "-testdata", "../../testdata"}, &out, &errOut),
			out.String()+errOut.String())
		text := duration.ReplaceAllString(out.String(), "in TIME\n")
		require.Contains(t, text, "in TIME\n")
		if first == "" {
			first = text
		}
		assert.Equal(t, first, text)
	}
}
