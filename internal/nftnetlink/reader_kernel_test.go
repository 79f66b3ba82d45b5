//go:build linux

package nftnetlink

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/nfnetlink"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

const sample = `table inet t {
	counter seen { packets 3 bytes 4; }
	set s { type ipv4_addr; flags interval; elements = { 10.0.0.0/8, 1.2.3.4 comment "x" } }
	set c { type ipv4_addr . inet_service; flags interval,timeout; elements = { 10.0.0.0/8 . 80-90 timeout 1h } }
	map m { type ifname : verdict; elements = { "eth0" : jump d } }
	chain d { }
	chain b {
		type nat hook prerouting priority -7; policy accept;
		tcp dport { 80, 443 } counter packets 5 bytes 6 dnat ip to 1.2.3.4:80 comment "c"
		limit rate 3/minute log prefix "x" level info goto d
		meta mark set meta mark << 3
	}
}`

func TestKernelRulesetIsRead(t *testing.T) {
	kerneltest.Need(t, "nft")
	place := kerneltest.New(t)
	place.Feed(sample, "nft", "-f", "-")
	var r *Ruleset
	now := time.Now()
	place.Do(func() {
		s, err := nfnetlink.Open()
		require.NoError(t, err)
		r, err = Read(s, now)
		require.NoError(t, err)
		require.NoError(t, s.Close())
	})
	require.Len(t, r.Tables, 1)
	table := r.Tables[0]
	assert.Equal(t, nftables.TableSpec{Family: nftables.Inet, Name: "t"}, table.TableSpec)
	require.Len(t, table.Objects, 1)
	counter := table.Objects[0].Value.(*expr.Counter)
	assert.EqualValues(t, 3, counter.Packets())
	require.Len(t, table.Sets, 4)
	assert.Len(t, table.Sets[0].Elements, 5)
	pipapo := table.Sets[1]
	assert.Equal(t, []uint8{4, 2}, pipapo.FieldLens)
	require.Len(t, pipapo.Elements, 1)
	assert.Equal(t, []byte{10, 255, 255, 255, 0, 90, 0, 0}, pipapo.Elements[0].KeyEnd)
	assert.Equal(t, time.Hour, pipapo.Elements[0].Timeout)
	assert.WithinDuration(t, now.Add(time.Hour), pipapo.Elements[0].Deadline, time.Minute)
	assert.Equal(t, &expr.Verdict{Code: expr.Jump, Chain: "d"}, table.Sets[2].Elements[0].Data.Verdict)
	require.Len(t, table.Chains, 2)
	accept := expr.Accept
	assert.Equal(t, &nftables.Hooking{Type: "nat", Priority: -7}, table.Chains[1].Hooking)
	assert.Equal(t, &accept, table.Chains[1].Policy)
	rules := table.Chains[1].Rules
	require.Len(t, rules, 3)
	var kinds []string
	for _, rule := range rules {
		for _, e := range rule.Exprs {
			kinds = append(kinds, e.Name())
		}
	}
	assert.Equal(t, []string{
		"meta", "cmp", "payload", "lookup", "counter", "immediate", "immediate", "nat",
		"limit", "log", "immediate",
		"meta", "bitwise", "meta",
	}, kinds)
	assert.Equal(t, &expr.Bitwise{Sreg: 1, Dreg: 1, Op: expr.LeftShift, Len: 4, Shift: 3}, rules[2].Exprs[1])
	assert.Equal(t, &expr.Limit{Rate: 3, Unit: time.Minute, Burst: 5}, rules[1].Exprs[0])
}
