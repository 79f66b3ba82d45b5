package forall_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/forall"
)

// TestWorkedOutAgainAfterCommit changes rules of nftables by a transaction: the chains and sets that it leaves alone are the same ones.
func TestWorkedOutAgainAfterCommit(t *testing.T) {
	const text = `table ip t {
	map services {
		type ipv4_addr . inet_proto . inet_service : verdict
		elements = { 10.96.0.1 . tcp . 80 : goto c0, 10.96.0.2 . tcp . 80 : goto c1 }
	}

	map refused {
		type ipv4_addr . inet_proto . inet_service : verdict
		elements = { 10.96.0.9 . tcp . 80 : drop }
	}

	map moves {
		type ipv4_addr : ipv4_addr
		elements = { 10.96.0.3 : 10.244.0.4 }
	}

	map sinks {
		type inet_proto . inet_service : verdict
		elements = { tcp . 8080 : drop }
	}

	chain c0 {
		meta l4proto tcp dnat ip to 10.244.0.2 : 8080
	}

	chain c1 {
		jump marks
		meta l4proto tcp dnat ip to 10.244.0.3 : 9090
	}

	chain marks {
		meta mark set 0x1
	}

	chain both {
		meta l4proto . th dport vmap @sinks
	}

	chain pre {
		type nat hook prerouting priority dstnat; policy accept;
		jump both
		ip daddr . meta l4proto . th dport vmap @services
		jump moving
	}

	chain moving {
		dnat to ip daddr map @moves
	}

	chain forward {
		type filter hook forward priority filter; policy accept;
		ip daddr . meta l4proto . th dport vmap @refused
		jump both
		mark 0x2 drop
	}
}
`
	for name, commits := range map[string][]string{
		"what a service leads to behind its translation": {"add element ip t refused { 10.244.0.3 . tcp . 9090 : drop }"},
		"a chain that the chain of a service leads to":   {"flush chain ip t marks\nadd rule ip t marks meta mark set 0x2"},
		"a chain that is met before and behind": {"delete element ip t services { 10.96.0.2 . tcp . 80 : goto c1 }\n" +
			"add element ip t services { 10.96.0.2 . tcp . 80 : goto c0 }"},
		"an element by which a rule translates, and what packets meet behind it": {
			"add element ip t moves { 10.96.0.4 : 10.244.0.5 }", "add element ip t refused { 10.244.0.5 . tcp . 80 : drop }"},
		"an element that leads to a chain, and that chain": {
			"add chain ip t more\nadd rule ip t more drop\nadd element ip t services { 10.96.0.5 . tcp . 80 : goto more }",
			"flush chain ip t more"},
		"a chain that leads to another one, and that one": {
			"add chain ip t more\nadd rule ip t more meta mark set 0x4\nadd rule ip t marks jump more", "add rule ip t more drop"},
	} {
		t.Run(name, func(t *testing.T) {
			h := hairpinHost(t, text)
			f := fatesOf(t, h, nil)
			for _, commit := range append([]string{"add rule ip t c1 counter"}, commits...) {
				transacts(t, h, commit+"\n")
				g, alone := fatesOf(t, h, f), fatesOf(t, h, nil)
				assert.True(t, g.Equal(alone), commit)
				assert.Equal(t, commit != "add rule ip t c1 counter", !g.Equal(f), commit)
				_, known := forall.Touched(f, g)
				assert.True(t, known, commit)
				f = g
			}
		})
	}
}
