package fakenft

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

func TestRulePlaces(t *testing.T) {
	fw, nat := TableName{nftables.Inet, "fw"}, TableName{nftables.IPv4, "nat"}
	for about, c := range map[string]struct {
		listing string
		want    []RulePlace
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
`, []RulePlace{{fw, "in", 1, 5}, {fw, "in", 2, 7}, {fw, "web", 1, 10}, {fw, "in", 3, 15}, {fw, "in", 4, 15}, {nat, "in", 1, 20}}},
		"a mistake": {"table inet fw {\n\tchain in {\n\t\ttcp dprt 22\n\t}\n}\n", nil},
		"JSON":      {`{"nftables": [{"table": {"family": "ip", "name": "nat"}}]}`, nil},
	} {
		assert.Equal(t, c.want, RulePlaces(c.listing), about)
	}
}
