package snapshot

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim"
)

// TestRulesThatAreNotWalkedAreUnknownToSome: of a native table with such a rule, packets that do not meet it are certain.
func TestRulesThatAreNotWalkedAreUnknownToSome(t *testing.T) {
	const table = known + `nftables:
- family: inet
  name: fw
  chains: [{name: c, hook: forward, priority: 0, type: filter, may: [drop]}]
  rules: |
    table inet fw {
    	chain c {
    		type filter hook forward priority filter; policy accept;
    		ct zone 5 tcp dport 80 drop
    	}
    }
`
	met := doubtsOf(t, table, fromPod)
	require.NotNil(t, met.Opaque)
	assert.Equal(t, "expression ct (ct zone)", met.Opaque.Extension)
	require.Len(t, met.Doubts, 1)
	assert.Equal(t, packetsim.DoubtExtension, met.Doubts[0].Kind)
	assert.Contains(t, met.Doubts[0].Unless, "inet fw:c:rule:2 decides otherwise, whose expression ct (ct zone) is not known")
	for _, packet := range []string{"tcp 10.244.0.11:40000 > 10.9.0.1:443 in veth1", "udp 10.244.0.11:40000 > 10.9.0.1:80 in veth1", toNode} {
		other := doubtsOf(t, table, packet)
		assert.Nil(t, other.Opaque, packet)
		assert.Empty(t, other.Doubts, packet)
	}
}

// twoChains are native tables of which one translates what the other one translates too, and a chain that drops what another one rejects.
const twoChains = known + `nftables:
- family: ip
  name: first
  rules: |
    table ip first {
    	chain pre {
    		type nat hook prerouting priority dstnat; policy accept;
    		tcp dport 80 dnat to 10.9.0.7
    	}
    	chain forward {
    		type filter hook forward priority filter + 5; policy accept;
    		udp dport 53 drop
    	}
    }
- family: inet
  name: second
  rules: |
    table inet second {
    	chain pre {
    		type nat hook prerouting priority dstnat; policy accept;
    		tcp dport 80 dnat ip to 10.9.0.8
    	}
    	chain forward {
    		type filter hook forward priority filter + 5; policy accept;
    		udp dport 53 reject
    	}
    }
`

// TestOrderOfNativeChainsDecides: where the snapshot has the order of the chains of one priority packets meet them so; where it has none
// and the order matters, that is a doubt.
func TestOrderOfNativeChainsDecides(t *testing.T) {
	const hooks = `hooks:
- {family: 4, hook: PREROUTING, chains: [ip first pre, inet second pre]}
- {family: 4, hook: FORWARD, chains: [inet second forward, ip first forward]}
`
	const other = "tcp 10.244.0.11:40000 > 10.9.0.1:443 in veth1"
	const dns = "udp 10.244.0.11:40000 > 10.9.0.1:53 in veth1"
	unknown := doubtsOf(t, twoChains, fromPod)
	assert.Equal(t, "10.9.0.8:80", unknown.Outcomes[0].DNAT)
	require.Len(t, unknown.Doubts, 1)
	assert.Equal(t, packetsim.Doubt{Kind: packetsim.DoubtOrder, See: "nft list hooks",
		Unless: "packets meet the chains of one priority in another order in PREROUTING (inet second pre, ip first pre)"}, unknown.Doubts[0])
	assert.Len(t, doubtsOf(t, twoChains, dns).Doubts, 1)
	assert.Empty(t, doubtsOf(t, twoChains, other).Doubts, "no chain does anything to it")

	assert.Equal(t, "10.9.0.7:80", doubtsOf(t, twoChains+hooks, fromPod).Outcomes[0].DNAT)
	assert.Equal(t, packetsim.Reject, doubtsOf(t, twoChains+hooks, dns).Outcomes[0].Verdict)
	turned := strings.NewReplacer("[ip first pre, inet second pre]", "[inet second pre, ip first pre]",
		"[inet second forward, ip first forward]", "[ip first forward, inet second forward]").Replace(hooks)
	assert.Equal(t, "10.9.0.8:80", doubtsOf(t, twoChains+turned, fromPod).Outcomes[0].DNAT)
	assert.Equal(t, packetsim.Drop, doubtsOf(t, twoChains+turned, dns).Outcomes[0].Verdict)
	for _, packet := range []string{fromPod, dns, other} {
		assert.Empty(t, doubtsOf(t, twoChains+hooks, packet).Doubts, packet)
	}
}

func TestOrderOfChainsIsChecked(t *testing.T) {
	for _, row := range []struct{ hooks, want string }{
		{"{family: 5, hook: INPUT, chains: []}", "hooks[0].family"},
		{"{family: 4, hook: input, chains: []}", "hooks[0].hook"},
		{"{family: 4, hook: INPUT, chains: [fw]}", "hooks[0].chains[0]"},
		{"{family: 4, hook: INPUT, chains: [ip a b, ip a b]}", "hooks[0].chains[1]"},
	} {
		_, err := Read("node1", strings.NewReader(plainNode+known+"hooks: ["+row.hooks+"]\n"))
		assert.ErrorContains(t, err, row.want)
	}
	s, err := Read("node1", strings.NewReader(plainNode+known+
		"hooks: [{family: 4, hook: INPUT, chains: [ip a b, ip c d]}, {family: 4, hook: INPUT, chains: [ip c d, ip a b]}]\n"))
	require.NoError(t, err)
	_, err = NewHost(s, HostOptions{})
	assert.ErrorContains(t, err, "comes before itself")
}
