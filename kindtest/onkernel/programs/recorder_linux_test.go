package programs

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
)

// recorderWith is a recorder whose real tools are these shell scripts.
func recorderWith(t *testing.T, tools map[string]string) Recorder {
	t.Helper()
	r := Recorder{Folder: t.TempDir()}
	require.NoError(t, os.Mkdir(filepath.Join(r.Folder, realFolder), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(r.Folder, dialectFile), []byte("legacy"), 0o600))
	for name, script := range tools {
		require.NoError(t, os.WriteFile(filepath.Join(r.Folder, realFolder, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	return r
}

// recorded are the calls that a recorder has written down.
func recorded(t *testing.T, r Recorder) []call {
	t.Helper()
	file, err := os.Open(filepath.Join(r.Folder, callsFile))
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	calls, err := readCalls(file)
	require.NoError(t, err)
	return calls
}

// TestRecorderGivesTheRealAnswer and writes down both, of each call in its turn: the fake tools remember what they were told.
func TestRecorderGivesTheRealAnswer(t *testing.T) {
	r := recorderWith(t, map[string]string{
		"iptables":         `echo "real $*"; echo why >&2; exit 3`,
		"iptables-restore": `cat`,
		"ip6tables":        `kill -9 $$`,
	})
	var stdout, stderr bytes.Buffer
	assert.Equal(t, 3, r.Run([]string{"/sbin/iptables", "-N", "mine"}, strings.NewReader("not read"), &stdout, &stderr))
	assert.Equal(t, "real -N mine\n", stdout.String())
	assert.Equal(t, "why\n", stderr.String())
	assert.Equal(t, 3, r.Run([]string{"iptables", "-N", "mine"}, nil, &stdout, &stderr))
	stdout.Reset()
	const input = "*filter\n-A mine -j DROP\nCOMMIT\n"
	assert.Zero(t, r.Run([]string{"iptables-restore", "-n"}, strings.NewReader(input), &stdout, &stderr))
	assert.Equal(t, input, stdout.String())
	assert.Equal(t, toolrun.StatusSignal+9, r.Run([]string{"ip6tables", "-L"}, nil, &stdout, &stderr))

	real := toolrun.Run{Stdout: "real -N mine\n", Stderr: "why\n", Status: 3}
	calls := recorded(t, r)
	require.Len(t, calls, 4)
	assert.Equal(t, call{Argv: []string{"/sbin/iptables", "-N", "mine"}, Real: real}, calls[0])
	assert.Equal(t, call{
		Argv: []string{"iptables", "-N", "mine"}, Real: real, Fake: toolrun.Run{Stderr: "iptables: Chain already exists.\n", Status: 1},
	}, calls[1])
	assert.Equal(t, call{Argv: []string{"iptables-restore", "-n"}, Stdin: input, Real: toolrun.Run{Stdout: input}}, calls[2])
}

func TestRecorderComparesAtThePhasesEnd(t *testing.T) {
	tools := map[string]string{"iptables": "exit 0"}
	for _, save := range saves {
		tools[save[0]] = "echo $0 $*"
	}
	r := recorderWith(t, tools)
	require.Zero(t, r.Run([]string{"iptables", "-A", "INPUT", "-j", "DROP"}, nil, &bytes.Buffer{}, &bytes.Buffer{}))
	var said bytes.Buffer
	require.Zero(t, r.Run([]string{"/usr/sbin/phase", "first"}, nil, &said, &said))
	assert.Empty(t, said.String())
	calls := recorded(t, r)
	require.Len(t, calls, 1+len(saves))
	for i, c := range calls[1:] {
		assert.Equal(t, "first", c.Phase)
		assert.Equal(t, saves[i], c.Argv)
		assert.Contains(t, c.Real.Stdout, strings.Join(saves[i], " "))
	}
	assert.Contains(t, calls[1].Fake.Stdout, "-A INPUT -j DROP")
}

// TestRecorderSharesAccounts: an object that a program has made by netlink is there when a rule of the fake names it.
func TestRecorderSharesAccounts(t *testing.T) {
	const rule = "*filter\n-A INPUT -m nfacct --nfacct-name seen\nCOMMIT\n"
	r := recorderWith(t, map[string]string{
		"nfacct":           `echo "{ pkts = 00000000000000000000, bytes = 0 } = other;"; echo "{ pkts = 1, bytes = 2 } = seen;"`,
		"iptables-restore": "cat >/dev/null",
	})
	for range 2 {
		assert.Zero(t, r.Run([]string{"iptables-restore", "-n"}, strings.NewReader(rule), &bytes.Buffer{}, &bytes.Buffer{}))
	}
	for _, c := range recorded(t, r) {
		assert.Equal(t, c.Real, c.Fake)
	}
}

func TestRecorderThatCannotCompareSaysSo(t *testing.T) {
	var said bytes.Buffer
	r := recorderWith(t, nil)
	assert.Equal(t, statusBroken, r.Run([]string{"iptables", "-L"}, nil, &said, &said), "there is no real tool")
	assert.Contains(t, said.String(), "recorder: ")
	assert.Equal(t, statusBroken, r.Run([]string{"phase"}, nil, &said, &said))
	assert.Equal(t, statusBroken, Recorder{Folder: filepath.Join(r.Folder, "none")}.Run([]string{"iptables", "-L"}, nil, &said, &said))
}
