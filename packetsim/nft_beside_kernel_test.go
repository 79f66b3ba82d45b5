//go:build linux

package packetsim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TestKernelNFTBesideIptables asks this machine's kernel, and the walk, whether a native chain meets a packet before iptables' chain of the
// same hook and priority drops it: the chain that was registered last is met first, whichever of the tools has made it.
func TestKernelNFTBesideIptables(t *testing.T) {
	kerneltest.Need(t, "nft", "iptables-nft-restore", "iptables-legacy-restore")
	const (
		native = "table ip n {\n\tchain c {\n\t\ttype filter hook output priority filter; policy accept;\n\t\tcounter\n\t}\n}\n"
		drops  = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT DROP [0:0]\nCOMMIT\n"
	)
	for _, c := range []struct {
		dialect     netfilter.Dialect
		nativeFirst bool // it is registered first
		meets       bool
	}{
		{netfilter.NFT, false, true}, {netfilter.NFT, true, false}, {netfilter.Legacy, false, true}, {netfilter.Legacy, true, false},
	} {
		place := kerneltest.New(t)
		place.Run([]string{"ip", "link", "set", "lo", "up"}, "")
		l := newNFTLab(t, nil, c.dialect)
		steps := []func(){
			func() {
				place.Feed(drops, "iptables-"+string(c.dialect)+"-restore")
				restoreInto(t, l.ipt[c.dialect], netfilter.IPv4, drops)
			},
			func() {
				place.Feed(native, "nft", "-f", "-")
				l.load(native)
			},
		}
		if c.nativeFirst {
			steps[0], steps[1] = steps[1], steps[0]
		}
		for _, step := range steps {
			step()
		}
		place.Run([]string{"bash", "-c", "echo x >/dev/udp/127.0.0.1/9"}, "")
		listed := place.Run([]string{"nft", "list", "chain", "ip", "n", "c"}, "")
		require.Zero(t, listed.Status, listed.Stderr)
		assert.Equal(t, c.meets, !strings.Contains(listed.Stdout, "counter packets 0 bytes 0"), "the kernel: %+v\n%s", c, listed.Stdout)
		way, _ := l.way("udp 192.168.0.3:1000 > 10.244.0.12:9 local")
		assert.Equal(t, c.meets, strings.Contains(strings.Join(way, "\n"), "n c continue"), "the walk: %+v: %q", c, way)
	}
}
