package differ

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/forall/certificate"
	"github.com/chainwalk/chainwalk/forall/certify"
	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

var certificates = flag.Int("certificates", 3, "random rulesets of each language and family of which certificates are checked")

// TestCertificatesOfRandomRulesets checks certificates of random rulesets, each beside the one before.
func TestCertificatesOfRandomRulesets(t *testing.T) {
	if race.Enabled && *certificates > 1 {
		*certificates = 1
	}
	for _, language := range []string{"legacy", "nft", "nftables"} {
		for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
			t.Run(fmt.Sprintf("%s/%d", language, family), func(t *testing.T) {
				g := &gen{r: rand.New(rand.NewPCG(*forallSeed, uint64(family)+7)), w: worlds[family]}
				var before certificate.Input
				var all certificate.Report
				issued, checked, reasons := 0, 0, map[string]int{}
				for n := range *certificates {
					h, text := drawnHost(t, g, language)
					if h == nil {
						continue
					}
					after := certificate.Input{Name: fmt.Sprintf("ruleset %d", n), Text: text, Local: g.w.node}
					if language != "nftables" {
						after.Text, after.Local = snapshotOf(t, h), nil
					}
					if before.Text == "" {
						before = after
					}
					c, err := certify.Of(before, after, certify.Options{Families: []netfilter.Family{family}, Chance: forall.Exact, MostBoxes: 20000})
					if before = after; err != nil {
						reasons[err.Error()]++
						continue
					}
					issued++
					r, err := certificate.Check(c, certificate.Options{MostParts: 200000})
					var wrong *certificate.Problem
					if !assert.False(t, errors.As(err, &wrong), "%v\n%s", err, text) {
						return
					}
					if err != nil {
						reasons[err.Error()]++
						continue
					}
					checked, all.Boxes, all.Parts, all.Walks = checked+1, all.Boxes+r.Boxes, all.Parts+r.Parts, all.Walks+r.Walks
				}
				t.Logf("%d certificates, %d of them checked: %d boxes in %d parts, %d walks", issued, checked, all.Boxes, all.Parts, all.Walks)
				for reason, n := range reasons {
					t.Logf("%d: %.300s", n, reason)
				}
			})
		}
	}
}

func snapshotOf(t *testing.T, h *packetsim.Host) string {
	t.Helper()
	s, err := snapshot.Of(h)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, s.Write(&b, snapshot.YAML))
	return b.String()
}
