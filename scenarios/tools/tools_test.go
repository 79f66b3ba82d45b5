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

// proxied are the tools of a fake kernel as a proxier has them.
func proxied(dialect fakeipt.Dialect) *Proxied {
	kernel := fakeipt.New(fakeipt.Options{Dialect: dialect})
	return &Proxied{Interface: kernel.Exec(), Faults: &Faults{}, Watch: NewWatch("node1")}
}

func TestRestoresFailAsOftenAsAsked(t *testing.T) {
	p := proxied(fakeipt.Legacy)
	p.Faults.Add(scenarios.Fault{RestoreFails: 1})
	_, err := Run(p, "", "iptables", "-N", "OTHER")
	require.NoError(t, err, "only restores fail")
	_, err = p.Command("iptables-restore", "--version").CombinedOutput()
	require.NoError(t, err, "a restore without an input is none")
	_, err = Run(p, restored, "iptables-restore")
	require.ErrorContains(t, err, "iptables-restore: exit status 2: iptables-restore v1.8.9 (legacy): Couldn't load target `FAULT'")
	_, err = Run(p, restored, "iptables-restore")
	require.NoError(t, err)
}

func TestInputsOfRestoresAreKeptAndCounted(t *testing.T) {
	p := proxied(fakeipt.Legacy)
	p.KeepInputs = true
	for _, argv := range [][]string{{"iptables", "-L"}, {"iptables-restore", "--noflush"}, {"ip6tables-restore"}} {
		_, err := Run(p, restored, argv...)
		require.NoError(t, err)
	}
	require.Len(t, p.Inputs, 2)
	assert.Equal(t, restored, string(p.Inputs[0]))
	cmd := p.CommandContext(t.Context(), "iptables-restore", "--noflush")
	cmd.SetStdin(strings.NewReader(restored))
	require.NoError(t, cmd.Run())
	assert.Len(t, p.Inputs, 3)
	assert.Equal(t, scenarios.Written{Restores: 3, Bytes: 3 * len(restored)}, p.Written)
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
