package tools

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/scenarios"
)

const restored = "*filter\n:MINE - [0:0]\nCOMMIT\n"

func TestRestoresFailAsOftenAsAsked(t *testing.T) {
	b := &Breakable{Interface: fakeipt.New(fakeipt.Options{}).Exec(), RestoreFails: 1}
	_, err := Run(b, "", "iptables", "-N", "OTHER")
	require.NoError(t, err, "only restores fail")
	_, err = b.Command("iptables-restore", "--version").CombinedOutput()
	require.NoError(t, err, "a restore without an input is none")
	_, err = Run(b, restored, "iptables-restore")
	require.ErrorContains(t, err, "iptables-restore: exit status 2: iptables-restore v1.8.9 (legacy): Couldn't load target `FAULT'")
	_, err = Run(b, restored, "iptables-restore")
	require.NoError(t, err)
}

func TestRecorderKeepsWhatRestoresAreGiven(t *testing.T) {
	kernel := fakeipt.New(fakeipt.Options{})
	r := &Recorder{Interface: kernel.Exec()}
	for _, argv := range [][]string{{"iptables", "-L"}, {"iptables-restore", "--noflush"}, {"ip6tables-restore"}} {
		_, err := Run(r, restored, argv...)
		require.NoError(t, err)
	}
	require.Len(t, r.Inputs, 2)
	assert.Equal(t, restored, string(r.Inputs[0]))
	cmd := r.CommandContext(t.Context(), "iptables-restore", "--noflush")
	cmd.SetStdin(strings.NewReader(restored))
	require.NoError(t, cmd.Run())
	assert.Len(t, r.Inputs, 3)
}

func TestRunSaysWhyAToolFailed(t *testing.T) {
	tools := fakeipt.New(fakeipt.Options{}).Exec()
	text, err := Run(tools, "", Name(scenarios.FamilyIPv6, ""), "-S", "INPUT")
	require.NoError(t, err)
	assert.Equal(t, "-P INPUT ACCEPT\n", text)
	_, err = Run(tools, "", "iptables", "-S", "NOSUCH")
	require.EqualError(t, err, "iptables -S NOSUCH: exit status 1: iptables: No chain/target/match by that name.")
	_, err = Run(tools, "", "nosuch")
	require.ErrorIs(t, err, exec.ErrExecutableNotFound)
}
