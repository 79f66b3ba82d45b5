//go:build linux

package ailments

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/netfilter"
)

func TestKernelBuild(t *testing.T) {
	kerneltest.Need(t, "nft")
	for _, l := range Layouts {
		for _, f := range []Families{V4, V6, Dual} {
			t.Run(string(l)+string(f), func(t *testing.T) {
				now := time.Now()
				lap := func(s string) { t.Log(s, time.Since(now)); now = time.Now() }
				w, err := New(Options{Layout: l, Dialect: netfilter.NFT, Families: f})
				require.NoError(t, err)
				defer func() { require.NoError(t, w.Close()) }()
				lap("build")
				for _, n := range nodeNames {
					require.NoError(t, w.SyncRules(n, nil))
				}
				lap("rules")
				for _, v6 := range f.each() {
					for _, try := range promised() {
						start := time.Now()
						got, err := w.Ask(&try, v6, try.Is)
						require.NoError(t, err, "%s", try.String())
						if d := time.Since(start); d > 500*time.Millisecond {
							t.Log(try.String(), d)
						}
						if !got.matches(try.Is, v6) {
							t.Errorf("%s: want %s, got %s", try.String(), try.Is, got)
						}
					}
				}
				lap("tries")
				c, err := w.Cluster(t.Context())
				require.NoError(t, err)
				lap("snapshots")
				r, err := c.Examine(t.Context())
				require.NoError(t, err)
				lap("examine")
				r.WriteText(t.Output())
			})
		}
	}
}
