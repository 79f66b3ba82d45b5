package oracle

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A range of IPv4 inside of IPv6 is one of IPv4, as the API reads it; one that holds more than that is not.
func TestRanges(t *testing.T) {
	want := []string{"203.0.113.0/24", "10.0.0.0/8", "0.0.0.0/0", "::fffe:0:0/95", "2001:db8::/64", "10.0.0.0/8"}
	var got []string
	for _, p := range prefixes([]string{
		"::ffff:203.0.113.0/120", "::ffff:10.1.2.3/104", "::ffff:0.0.0.0/96", "::ffff:0.0.0.0/95", " 2001:db8::1/64 ", "010.001.000.000/8",
		"nothing",
	}) {
		assert.Equal(t, p, p.Masked())
		got = append(got, p.String())
	}
	assert.Equal(t, want, got)
	assert.True(t, netip.MustParsePrefix(got[0]).Contains(netip.MustParseAddr("203.0.113.7")))
}
