package differ

import (
	"bytes"
	"cmp"
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
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

var certificates = flag.Int("certificates", 0, "random rulesets of each language and family of which certificates are checked; 0: few")

var certified = []forall.Class{forall.New, forall.Established, forall.Replying, forall.Related, forall.Invalid, forall.Untracked}

// TestCertificatesOfRandomRulesets checks certificates of random rulesets, each beside the one before: one of new packets and one of those
// of another class, which rulesets take in turn. It takes every second language and family (internal/sample), of each language one.
func TestCertificatesOfRandomRulesets(t *testing.T) {
	race.OneGoroutine(t)
	for l, language := range []string{"legacy", "nft", "nftables"} {
		for f, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
			if !sample.Takes(t, l+f, 2) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", language, family), func(t *testing.T) {
				g := &gen{r: rand.New(rand.NewPCG(*forallSeed, uint64(family)+7)), w: worlds[family]}
				var before certificate.Input
				checks := certificateChecks{reasons: map[string]int{}}
				for n := range cmp.Or(*certificates, 4/sample.Every(2)) {
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
					other := certified[1+(n+int(family)+len(language))%(len(certified)-1)]
					for _, class := range []forall.Class{forall.New, other} {
						if !checks.one(t, before, after, family, class, text) {
							return
						}
					}
					before = after
				}
				t.Log(&checks)
				for reason, n := range checks.reasons {
					t.Logf("%d: %.300s", n, reason)
				}
			})
		}
	}
}

// certificateChecks are numbers of certificates, and why some were not issued or not checked.
type certificateChecks struct {
	issued, checked int
	all             certificate.Report
	reasons         map[string]int
}

// String is the numbers.
func (c *certificateChecks) String() string {
	return fmt.Sprintf("%d certificates, %d of them checked: %d boxes in %d parts, %d walks", c.issued, c.checked, c.all.Boxes, c.all.Parts,
		c.all.Walks)
}

// one issues and checks a certificate; false if it does not hold.
func (c *certificateChecks) one(t *testing.T, before, after certificate.Input, family netfilter.Family, class forall.Class, text string,
) bool {
	t.Helper()
	made, err := certify.Of(before, after, certify.Options{Families: []netfilter.Family{family}, Classes: []forall.Class{class},
		Chance: forall.Exact, MostBoxes: 20000})
	if err != nil {
		c.reasons[err.Error()]++
		return true
	}
	c.issued++
	r, err := certificate.Check(made, certificate.Options{MostParts: 200000})
	var wrong *certificate.Problem
	if !assert.False(t, errors.As(err, &wrong), "%s: %v\n%s", class, err, text) {
		return false
	}
	if err != nil {
		c.reasons[err.Error()]++
		return true
	}
	c.checked, c.all.Boxes, c.all.Parts, c.all.Walks = c.checked+1, c.all.Boxes+r.Boxes, c.all.Parts+r.Parts, c.all.Walks+r.Walks
	return true
}

func snapshotOf(t *testing.T, h *packetsim.Host) string {
	t.Helper()
	s, err := snapshot.Of(h)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, s.Write(&b, snapshot.YAML))
	return b.String()
}
