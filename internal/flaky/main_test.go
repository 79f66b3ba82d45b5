package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/command"
)

// The tests of a module that fail in some of their runs: each run leaves a file.
const (
	someTimes = `package sometimes

import (
	"os"
	"testing"
)

func TestEverySecondTime(t *testing.T) {
	if os.Mkdir("ran", 0o700) == nil {
		return
	}
	os.Remove("ran")
	t.Run("inside", func(t *testing.T) { t.Error("this is why") })
}

func TestAlways(t *testing.T) {}
`
	never = `package never

import (
	"os"
	"testing"
)

func TestFine(t *testing.T) {
	if os.Getenv("CHAINWALK_KERNEL") != "" {
		t.Error("the real kernel is not for these runs")
	}
}
`
	broken = `package broken

import "testing"

func TestPanics(t *testing.T) { go panic("lost"); select {} }
`
)

// newModule makes a module of packages with one test file each the working directory.
func newModule(t *testing.T, tests map[string]string) {
	folder := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	write("go.mod", "module example\n\ngo 1.26\n")
	for name, text := range tests {
		write(name+"/some_test.go", text)
	}
	write("none/none.go", "package none\n")
	t.Chdir(folder)
	t.Setenv("GOFLAGS", "-mod=mod -ldflags=-w") // nobody debugs the test programs
	t.Setenv("CHAINWALK_KERNEL", "1")
}

func flaky(t *testing.T, args ...string) (status int, out string) {
	var o, e bytes.Buffer
	status = newCommand().Run(t.Context(), append([]string{"-race=false"}, args...), &o, &e)
	return status, o.String() + e.String()
}

func TestFindsWhatFailsSometimes(t *testing.T) {
	newModule(t, map[string]string{"sometimes": someTimes, "never": never})
	status, out := flaky(t, "-runs", "4", "-jobs", "1", "./...")
	assert.Equal(t, command.Failed, status)
	assert.Regexp(t, `(?m)^ +4 +2 .* example/sometimes$`, out)
	assert.Regexp(t, `(?m)^ +4 +0 .* example/never$`, out)
	assert.NotContains(t, out, "example/none")
	assert.Contains(t, out, "\nexample/sometimes TestEverySecondTime/inside failed in 2 of 4 runs, at first with GOMAXPROCS=2 "+
		"-test.shuffle=2 ")
	assert.Contains(t, out, "this is why")
	assert.NotContains(t, out, "TestAlways failed")
}

func TestHolds(t *testing.T) {
	newModule(t, map[string]string{"never": never})
	status, out := flaky(t, "-runs", "3", "./...")
	assert.Equal(t, command.Held, status, out)
}

func TestFindsPanics(t *testing.T) {
	newModule(t, map[string]string{"broken": broken})
	status, out := flaky(t, "-runs", "2", "./...")
	assert.Equal(t, command.Failed, status)
	assert.Contains(t, out, "example/broken "+wholeBinary+" failed in 2 of 2 runs")
	assert.Contains(t, out, "panic: lost")
}

// A package that is run less often is named.
func TestSaysWhatIsSlow(t *testing.T) {
	newModule(t, map[string]string{"never": never})
	status, out := flaky(t, "-runs", "5", "-slow", "1ns", "-slow-runs", "2", "./...")
	assert.Equal(t, command.Held, status)
	assert.Contains(t, out, "SLOW, ONLY 2 RUNS: example/never takes ")
	assert.Regexp(t, `(?m)^ +2 +0 .* example/never$`, out)
}

func TestRefuses(t *testing.T) {
	newModule(t, map[string]string{"wrong": "package wrong\n\nfunc TestX() { x }\n"})
	for _, args := range [][]string{{}, {"-runs", "0", "./..."}, {"./nowhere"}, {"./none"}, {"./wrong"}, {"-wrong"}} {
		status, out := flaky(t, args...)
		assert.Equal(t, command.Broken, status, "%v: %s", args, out)
		assert.NotEmpty(t, out)
	}
}
