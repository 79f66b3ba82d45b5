package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A docker that answers as long as an engine runs, and an engine that runs until it is told to end.
const (
	fakeClient = "#!/bin/sh\n" + `test -e "$ENGINE/running"` + "\n"
	fakeEngine = "#!/bin/sh\n" + `echo "$@" > "$ENGINE/arguments"
while [ "$1" != --pidfile ]; do shift; done
trap 'rm "$ENGINE/running" "$2"; exit' TERM
echo $$ > "$2"
: > "$ENGINE/running"
while :; do sleep 0.1; done
`
	brokenEngine = "#!/bin/sh\necho no such thing as overlay >&2\nexit 1\n"
)

// machine has a Docker of these scripts, and no other.
func machine(t *testing.T, engine string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, script := range map[string]string{"docker": fakeClient, "dockerd": engine} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(script), 0o755))
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("ENGINE", folder)
	return folder
}

// engine runs the command.
func engine(t *testing.T, folder string, more ...string) (status int, said string) {
	t.Helper()
	var out bytes.Buffer
	args := append([]string{"-source", "../../../..", "-folder", filepath.Join(folder, "engine")}, more...)
	status = newCommand().Run(t.Context(), args, &out, &out)
	return status, out.String()
}

func TestEngineStartsOnceAndEnds(t *testing.T) {
	folder := machine(t, fakeEngine)
	status, said := engine(t, folder)
	require.Zero(t, status, said)
	t.Cleanup(func() { engine(t, folder, "-stop") })
	assert.Contains(t, said, "a Docker engine runs")
	arguments, err := os.ReadFile(filepath.Join(folder, "arguments"))
	require.NoError(t, err)
	runtime := filepath.Join(folder, "engine", "chainwalk-runtime")
	assert.Contains(t, string(arguments), "--add-runtime bounded="+runtime+" --default-runtime bounded")
	assert.FileExists(t, runtime)

	status, said = engine(t, folder)
	assert.Zero(t, status)
	assert.Equal(t, "a Docker engine answers\n", said, "it is not started twice")

	status, said = engine(t, folder, "-stop")
	assert.Zero(t, status, said)
	assert.NoFileExists(t, filepath.Join(folder, "running"))
	status, said = engine(t, folder, "-stop")
	assert.NotZero(t, status)
	assert.Contains(t, said, "no Docker engine was started here")
}

func TestEngineThatDoesNotStart(t *testing.T) {
	folder := machine(t, brokenEngine)
	status, said := engine(t, folder)
	assert.NotZero(t, status)
	assert.Contains(t, said, "the Docker engine ended")
	_, log, found := strings.Cut(strings.TrimSpace(said), "its log is ")
	require.True(t, found, said)
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.Equal(t, "no such thing as overlay\n", string(text))
}

func TestEngineThatIsNotInstalled(t *testing.T) {
	folder := machine(t, fakeEngine)
	require.NoError(t, os.Remove(filepath.Join(folder, "dockerd")))
	t.Setenv("PATH", folder)
	status, said := engine(t, folder)
	assert.NotZero(t, status)
	assert.Contains(t, said, "apt-get install docker.io")
}
