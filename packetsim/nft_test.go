package packetsim

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

func TestWalkOfNFTServices(t *testing.T) {
	const services = 2000
	h, _ := testNode{}.build(t)
	kubeProxy(services).into(t, h.Netfilter())
	outcomes, err := h.Walk(parse(t, lastService(services)))
	require.NoError(t, err)
	require.Len(t, outcomes, 5)
	for _, o := range outcomes {
		assert.Equal(t, 0.2, o.Probability)
		assert.Contains(t, o.DNAT, ":8080")
	}
	var way []string
	for _, step := range outcomes[0].Steps {
		way = append(way, fmt.Sprintf("%s %s %d", step.Chain, step.Verdict, step.Number))
	}
	assert.Equal(t, []string{
		"filter-prerouting-pre-dnat jump firewall-check 1", "firewall-check continue 2", "filter-prerouting-pre-dnat accept 2",
		"nat-prerouting jump services 1", "services goto service-00F18C41-ns/svc1999/tcp/http 2",
		"service-00F18C41-ns/svc1999/tcp/http accept 1",
		"filter-forward jump service-endpoints-check 1", "service-endpoints-check continue 2",
		"filter-forward jump cluster-ips-check 2", "cluster-ips-check continue 2", "filter-forward accept 3",
		"nat-postrouting jump masquerading 1", "masquerading continue 3", "nat-postrouting accept 2",
	}, way)
}

// TestNFTVerdictsAreThoseOfWalks compares verdicts, which take endpoints from where they lie together, with walks, which tell the elements
// that they met.
func TestNFTVerdictsAreThoseOfWalks(t *testing.T) {
	h, _ := testNode{}.build(t)
	kubeProxy(3).into(t, h.Netfilter())
	in := parse(t, lastService(3))
	for range 2 { // of which the second finds all compiled
		walks, err := h.Walk(in)
		require.NoError(t, err)
		verdicts, err := h.Verdicts(in)
		require.NoError(t, err)
		require.Len(t, verdicts, len(walks))
		for i := range walks {
			assert.Equal(t, walks[i].DNAT, verdicts[i].DNAT)
			assert.Equal(t, walks[i].Final, verdicts[i].Final)
			assert.Equal(t, walks[i].Probability, verdicts[i].Probability)
		}
	}
}

// TestNFTWalksWhileCommitting walks on two hosts of one kernel while chains, rules and elements change.
func TestNFTWalksWhileCommitting(t *testing.T) {
	const services = 20
	h, _ := testNode{}.build(t)
	k := kubeProxy(services).into(t, h.Netfilter())
	other, err := NewHost(h.Config())
	require.NoError(t, err)
	var stop atomic.Bool
	var beside sync.WaitGroup
	for _, host := range []*Host{h, other} {
		beside.Go(func() {
			for n := 0; !stop.Load() || n < services; n++ {
				in := parse(t, lastService(1+n%services))
				o, err := host.Verdict(in, SeededChance(uint64(n)))
				assert.NoError(t, err)
				assert.Contains(t, o.DNAT, ":8080")
			}
		})
	}
	for n := range 200 {
		chain := fmt.Sprintf("more-%d", n)
		more := &nftText{family: nftables.IPv4, table: "kube-proxy"}
		more.chain(chain)
		more.rule("services", list(loadMeta(expr.MetaL4proto, 0), cmpEq(132)), verdictOf(expr.Jump, chain))
		require.Empty(t, k.Commit(more.changes))
	}
	stop.Store(true)
	beside.Wait()
}

// BenchmarkVerdictNFT is BenchmarkVerdict of what kube-proxy writes in its mode nftables.
func BenchmarkVerdictNFT(b *testing.B) {
	for _, services := range []int{100, 1000, 10000, 50000} {
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			h, _ := testNode{}.build(b)
			kubeProxy(services).into(b, h.Netfilter())
			b.Run("last", func(b *testing.B) { benchVerdicts(b, h, services, 0) })
			b.Run("each", func(b *testing.B) { benchVerdicts(b, h, services, 7919) })
		})
	}
}
