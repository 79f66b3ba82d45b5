//go:build linux

package ailments

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKernelHealthyWards(t *testing.T) {
	needKernel(t)
	for _, h := range Healthies() {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			c, err := h.Run(t.Context())
			require.NoError(t, err)
			assert.Empty(t, c.Wrong, "what the kernel does")
			assert.Zero(t, c.Findings, c.Report)
		})
	}
}
