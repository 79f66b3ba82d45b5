package jsontext_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestProtocolWords reads the words for protocols, as the real tool does: some are nft's own, the others are those of the machine.
func TestProtocolWords(t *testing.T) {
	for _, row := range []struct{ key, right, listed, says string }{
		{key: "l4proto", right: `"icmpv6"`, listed: "meta l4proto ipv6-icmp accept"},
		{key: "l4proto", right: `"comp"`, listed: "meta l4proto ipcomp accept"},
		{key: "l4proto", right: `"ipcomp"`, listed: "meta l4proto ipcomp accept"},
		{key: "l4proto", right: `{"set": ["icmp", "icmpv6"]}`, listed: "meta l4proto { icmp, ipv6-icmp } accept"},
		{key: "l4proto", right: `"mh"`, says: "Could not resolve protocol name"},
		{key: "iifname", right: `"icmpv6"`, says: "datatype mismatch, expected network interface name, expression has type Internet protocol"},
	} {
		nft := &ours{}
		nft.fresh(t)
		_, said := nft.run([]string{"-j", "-f", "-"}, fmt.Sprintf(`{"nftables": [{"add": {"table": {"family": "inet", "name": "t"}}},
			{"add": {"chain": {"family": "inet", "table": "t", "name": "c"}}}, {"add": {"rule": {"family": "inet", "table": "t", "chain": "c",
			"expr": [{"match": {"left": {"meta": {"key": %q}}, "op": "==", "right": %s}}, {"accept": null}]}}}]}`, row.key, row.right))
		listed, _ := nft.run([]string{"list", "ruleset"}, "")
		if row.says != "" {
			assert.Contains(t, said, row.says, row.right)
			assert.Empty(t, listed, row.right)
			continue
		}
		assert.Empty(t, said, row.right)
		assert.Contains(t, listed, "\t\t"+row.listed+"\n", row.right)
	}
}
