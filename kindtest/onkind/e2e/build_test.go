package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
)

// TestKubeProxyOfACheckoutWantsOne: what is no clone is said before anything is built.
func TestKubeProxyOfACheckoutWantsOne(t *testing.T) {
	dir := t.TempDir()
	assert.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.org/other\n"), 0o600))
	o := options{kubernetes: dir, folder: t.TempDir()}
	_, err := o.kubeProxy(t.Context(), "../../..")
	assert.ErrorContains(t, err, "KUBERNETES="+dir+" is of the module example.org/other")
}

func TestACheckoutIsOfKubeProxy(t *testing.T) {
	o := options{kubernetes: "x", proxy: cluster.Chainwalk}
	assert.False(t, o.valid(nil))
	o.proxy = cluster.KubeProxy
	assert.True(t, o.valid(nil))
}
