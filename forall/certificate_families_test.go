package forall_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
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

// TestProblemsNameTheRule: of a box that a rule treats otherwise in a part, the rule and where it cuts the box.
func TestProblemsNameTheRule(t *testing.T) {
	c := issuedFor(t, netfilter.IPv4, stateful["iptables"], stateful["iptables"], forall.New)
	c.After.Text = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n" +
		"-A FORWARD -p tcp -m tcp --dport 80:90 -j ACCEPT\nCOMMIT\n"
	_, err := certificate.Check(copied(t, c), certificate.Options{})
	require.ErrorContains(t, err, "(rule filter:FORWARD:rule:1 (-A FORWARD -p tcp -m tcp --dport 80:90 -j ACCEPT) cuts it at port 91)")
}
