//go:build linux

package ailments

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/sample"
)

var tableFile = flag.String("table", "", "`FILE` to write what became of all ailments and healthy wards to")

// table is filled by the tests.
var table Table

func TestMain(m *testing.M) {
	status := m.Run()
	if *tableFile != "" {
		file, err := os.Create(*tableFile)
		if err == nil {
			err = table.Write(file)
		}
		if err != nil {
			panic(err)
		}
	}
	os.Exit(status)
}

// needKernel skips a test that is not asked to use the machine's kernel and tools.
func needKernel(t *testing.T) {
	t.Helper()
	kerneltest.Need(t, "nft", "nfacct", "conntrack", "bridge", "sysctl",
		"iptables-legacy", "iptables-nft", "ip6tables-legacy", "ip6tables-nft")
}

func TestKernelAilments(t *testing.T) {
	needKernel(t)
	for _, a := range sample.Part(t, Ailments()) {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			r, err := a.Run(t.Context())
			require.NoError(t, err)
			table.addAilment(&a, r)
			assert.Empty(t, r.Wrong, "what the kernel does")
			assert.NotEqual(t, noHelp, r.Repaired, "what the remedy does: %s", r.Report)
			assert.Empty(t, r.Unsaid, r.Report)
			if r.Named != a.want() {
				t.Errorf("want %s first, got %s\n%s", a.want(), r.Named, r.Report)
			}
		})
	}
}

func TestKernelHealthyWards(t *testing.T) {
	needKernel(t)
	for _, h := range sample.Part(t, Healthies()) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			c, err := h.Run(t.Context())
			require.NoError(t, err)
			table.addHealthy(&h, c)
			assert.Empty(t, c.Wrong, "what the kernel does")
			assert.Zero(t, c.Findings, c.Report)
			assert.Empty(t, c.No, "what why says")
		})
	}
}
