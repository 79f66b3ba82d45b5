package certificate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall/certificate"
	"github.com/chainwalk/chainwalk/forall/certify"
	"github.com/chainwalk/chainwalk/netfilter"
)

// both is a table whose chain has rules for either family: a packet of the other one fails at the family of the rule, before its addresses.
const both = `table inet firewall {
	chain forward {
		type filter hook forward priority 0; policy drop;
		ip daddr 10.0.0.0/8 accept
		ip6 daddr fd00::/16 accept
	}
}
`

// TestFamilyThatIsLeftOutIsNamed: whoever takes the boxes of a family out of a certificate is found out, if a host has chains for it.
func TestFamilyThatIsLeftOutIsNamed(t *testing.T) {
	c, err := certify.Of(certificate.Input{Name: "before", Text: both},
		certificate.Input{Name: "after", Text: strings.Replace(both, "fd00", "fd01", 1)},
		certify.Options{Families: []netfilter.Family{netfilter.IPv4, netfilter.IPv6}})
	require.NoError(t, err)
	report, err := certificate.Check(copied(t, c), certificate.Options{})
	require.NoError(t, err)
	assert.Positive(t, report.Differ)
	assert.Empty(t, report.Silent)

	c.Parts, c.Same = c.Parts[:1], true // IPv4, whose packets are treated alike
	report, err = certificate.Check(copied(t, c), certificate.Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{"it says nothing of IPv6, and before has chains for it"}, report.Silent)
}
