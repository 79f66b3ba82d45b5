package fakenft

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

func TestRulePlaces(t *testing.T) {
	fw, nat := TableName{nftables.Inet, "fw"}, TableName{nftables.IPv4, "nat"}
	for about, c := range map[string]struct {
		listing string
		want    []RulePlace
		mistake bool
	}{
		"a rule on several lines, a chain in two blocks": {`
table inet fw {
	chain in {
		type filter hook input priority filter; policy accept;
		tcp dport { 22, 80,
			    443 } accept
		jump web # handle 7
	}
	chain web {
		drop
	}
}
table inet fw {
	chain in {
		drop; accept
	}
}
table ip nat {
	chain in {
		accept
	}
}
`, []RulePlace{{fw, "in", 1, 5}, {fw, "in", 2, 7}, {fw, "web", 1, 10}, {fw, "in", 3, 15}, {fw, "in", 4, 15}, {nat, "in", 1, 20}}, false},
		"a mistake": {"table inet fw {\n\tchain in {\n\t\ttcp dprt 22\n\t}\n}\n", nil, true},
		"JSON":      {`{"nftables": [{"table": {"family": "ip", "name": "nat"}}]}`, nil, false},
	} {
		places, err := New(Options{}).LoadPlaces("listing", strings.NewReader(c.listing))
		assert.Equal(t, c.mistake, err != nil, "%s: %v", about, err)
		assert.Equal(t, c.want, places, about)
	}
}
