package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWrongUse(t *testing.T) {
	for about, row := range map[string]struct {
		args          []string
		config        string
		status        int
		says, toldErr string
	}{
		"an argument":           {args: []string{"create"}, status: 2, toldErr: "takes no arguments"},
		"no configuration":      {config: "nodes: [", status: 1, says: "yaml"},
		"another kind":          {config: "kind: Pod\napiVersion: v1\n", status: 1, says: "unknown"},
		"a field that is wrong": {config: "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnods: []\n", status: 1, says: "nods"},
	} {
		t.Run(about, func(t *testing.T) {
			var out, errOut bytes.Buffer
			assert.Equal(t, row.status, run(row.args, strings.NewReader(row.config), &out, &errOut))
			assert.Contains(t, out.String(), row.says)
			assert.Contains(t, errOut.String(), row.toldErr)
		})
	}
}

// TestChainwalkLinksNoProvisioning holds why this program is one of its own: what chainwalk links is much smaller without.
func TestChainwalkLinksNoProvisioning(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "../chainwalk").Output()
	require.NoError(t, err)
	assert.NotContains(t, strings.Fields(string(out)), "github.com/chainwalk/chainwalk/kindtest/onkind/provision")
}
