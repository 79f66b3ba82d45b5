package differ

import (
	"os"
	"os/signal"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// usual is the value that machineSysctls have on a machine of a test.
const usual = "250\n"

// machineOf is a machine whose settings are files of the test.
func machineOf(t *testing.T) machine {
	m := machine{folder: filepath.Join(t.TempDir(), "runs"), sysctls: t.TempDir()}
	for name := range machineSysctls {
		path := filepath.Join(m.sysctls, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(usual), 0o600))
	}
	return m
}

// assertSet demands that machineSysctls have the values of the lab.
func (m machine) assertSet(t *testing.T) {
	t.Helper()
	for name, value := range machineSysctls {
		got, err := os.ReadFile(filepath.Join(m.sysctls, name))
		require.NoError(t, err)
		assert.Equal(t, value, string(got), name)
	}
}

// assertPutBack demands that nothing is left of any run.
func (m machine) assertPutBack(t *testing.T) {
	t.Helper()
	for name := range machineSysctls {
		got, err := os.ReadFile(filepath.Join(m.sysctls, name))
		require.NoError(t, err)
		assert.Equal(t, usual, string(got), name)
	}
	saved, err := os.ReadDir(m.saved())
	require.NoError(t, err)
	assert.Empty(t, saved, "values of sysctls that are not put back")
}

func TestLastRunPutsSysctlsBack(t *testing.T) {
	m := machineOf(t)
	first, err := m.begin()
	require.NoError(t, err)
	m.assertSet(t)
	second, err := m.begin()
	require.NoError(t, err)
	require.NoError(t, first.end())
	m.assertSet(t)
	third, err := m.begin()
	require.NoError(t, err)
	require.NoError(t, second.end())
	m.assertSet(t)
	require.NoError(t, third.end())
	m.assertPutBack(t)
}

// TestLeftoversOfDeadRunsGo makes what a killed run leaves: changed sysctls with the saved values.
func TestLeftoversOfDeadRunsGo(t *testing.T) {
	m := machineOf(t)
	dead, err := m.begin()
	require.NoError(t, err)
	signal.Stop(dead.signals)
	close(dead.signals)
	require.NoError(t, dead.shared.Close()) // as the end of the process does
	m.assertSet(t)

	again, err := m.begin()
	require.NoError(t, err)
	m.assertSet(t)
	require.NoError(t, again.end())
	m.assertPutBack(t)
}
