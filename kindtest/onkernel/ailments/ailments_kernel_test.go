//go:build linux

package ailments

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// needKernel skips a test that is not asked to use the machine's kernel and tools.
func needKernel(t *testing.T) {
	t.Helper()
	kerneltest.Need(t, "nft", "nfacct", "conntrack", "bridge", "sysctl", "iptables-legacy", "iptables-nft", "ip6tables-legacy", "ip6tables-nft")
}

func TestKernelAilments(t *testing.T) {
	needKernel(t)
	for _, a := range Ailments() {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			r, err := a.Run(t.Context())
			require.NoError(t, err)
			assert.Empty(t, r.Wrong, "what the kernel does")
			if !r.Named(a.Cause) {
				t.Errorf("want %s first: doctor %q, trace %q, why %q\n%s", a.Cause, r.Doctor, r.Trace, r.Why, r.Report)
			}
		})
	}
}
