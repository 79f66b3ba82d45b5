package packetsim

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// TestNFTIdleRules looks at what is left of kube-proxy's chains for walks that tell nothing, and adds what makes a rule do something.
func TestNFTIdleRules(t *testing.T) {
	h, _ := testNode{}.build(t)
	k := kubeProxy(3).into(t, h.Netfilter())
	left := func(chain string) int {
		table := k.State().Table(nftables.IPv4, "kube-proxy")
		return len(nftProgramOf(table, table.Chain(chain)).in(table).rules)
	}
	assert.Equal(t, 0, left("filter-prerouting-pre-dnat"), "firewall-ips is empty")
	assert.Equal(t, 1, left("filter-forward"), "no-endpoint-services is empty")
	assert.Equal(t, 2, left("nat-prerouting"), "as services, to which alone it jumps")
	assert.Equal(t, 1, left("nat-postrouting"), "as masquerading, without the look-up in hairpin-connections")
	table := k.State().Table(nftables.IPv4, "kube-proxy")
	assert.True(t, nftProgramOf(table, table.Chain("services")).in(table).rules[0].ahead, "of the look-up in service-ips")
	in := parse(t, lastService(3))
	verdict := func() Outcome {
		o, err := h.Verdict(in, SeededChance(1))
		require.NoError(t, err)
		return o
	}
	require.Equal(t, Accept, verdict().Verdict)
	blocked := nftables.ElementSpec{Key: serviceKey(serviceAddr(2), 6, 80), Data: &expr.Data{Verdict: &expr.Verdict{Code: expr.Drop}}}
	require.Empty(t, k.Commit([]nftables.Change{&nftables.AddElements{Family: nftables.IPv4, Table: "kube-proxy", Set: "firewall-ips",
		Elements: []nftables.ElementSpec{blocked}}}))
	assert.Equal(t, 1, left("filter-prerouting-pre-dnat"))
	assert.Equal(t, Drop, verdict().Verdict)
	require.Empty(t, k.Commit([]nftables.Change{&nftables.DeleteElements{Family: nftables.IPv4, Table: "kube-proxy", Set: "firewall-ips",
		Elements: []nftables.ElementSpec{{Key: blocked.Key}}}}))
	assert.Equal(t, 0, left("filter-prerouting-pre-dnat"))
	assert.Equal(t, Accept, verdict().Verdict)
}

// TestNFTQuietWalks holds that walks which tell nothing of the rules have the outcomes of those that do: they pass over idle rules, and
// take several operations at once.
func TestNFTQuietWalks(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h, _ := testNode{}.build(t)
		k := drawNFTTable(r).into(t, h.Netfilter())
		for range 2 { // commits
			for range 20 { // so that the sets get indexes
				in := parse(t, fmt.Sprintf("%s 10.244.0.%d:1000 > 10.244.0.12:%d mark 0x%x in veth1",
					rapid.SampledFrom([]string{"tcp", "udp"}).Draw(r, "proto"), rapid.IntRange(11, 13).Draw(r, "src"),
					rapid.IntRange(80, 82).Draw(r, "dport"), rapid.IntRange(0, 2).Draw(r, "mark")))
				walks, err := h.Walk(in)
				require.NoError(t, err)
				verdicts, err := h.Verdicts(in)
				require.NoError(t, err)
				require.Len(t, verdicts, len(walks))
				for i := range walks {
					walks[i].Steps, walks[i].Events = nil, nil
					require.Equal(t, walks[i], verdicts[i])
				}
			}
			more := &nftText{family: nftables.IPv4, table: "t"}
			more.changes = append(more.changes, &nftables.AddElements{Family: nftables.IPv4, Table: "t",
				Set: fmt.Sprintf("s%d", rapid.IntRange(0, 1).Draw(r, "set")), Elements: []nftables.ElementSpec{drawNFTKey(r)}})
			more.rule(drawNFTChain(r, 0), drawNFTRule(r, nftChains))
			k.Commit(more.changes)
		}
	})
}

// nftChains is how many chains drawn tables have; each leads to later ones only.
const nftChains = 4

func drawNFTTable(r *rapid.T) *nftText {
	n := newNFTText(nftables.IPv4, "t")
	n.base("c0", "filter", forward, 0)
	for c := 1; c < nftChains; c++ {
		n.chain(fmt.Sprintf("c%d", c))
	}
	keys := func() (keys []nftables.ElementSpec) {
		for range rapid.IntRange(0, 3).Draw(r, "keys") {
			keys = append(keys, drawNFTKey(r))
		}
		slices.SortFunc(keys, func(a, b nftables.ElementSpec) int { return bytes.Compare(a.Key, b.Key) })
		return slices.CompactFunc(keys, func(a, b nftables.ElementSpec) bool { return bytes.Equal(a.Key, b.Key) })
	}
	for s := range 2 {
		n.set(nftables.SetSpec{Name: fmt.Sprintf("s%d", s), KeyLen: 12}, keys()...)
	}
	for c := range nftChains {
		verdicts := keys()
		for i := range verdicts {
			verdicts[i].Data = &expr.Data{Verdict: drawNFTVerdict(r, c)}
		}
		n.set(nftables.SetSpec{Name: fmt.Sprintf("m%d", c), Flags: nftables.SetMap, KeyLen: 12, DataType: nftables.DataVerdict, DataLen: 16},
			verdicts...)
		for range rapid.IntRange(0, 3).Draw(r, "rules") {
			n.rule(fmt.Sprintf("c%d", c), drawNFTRule(r, c))
		}
	}
	return n
}

func drawNFTChain(r *rapid.T, from int) string {
	return fmt.Sprintf("c%d", rapid.IntRange(from, nftChains-1).Draw(r, "chain"))
}

func drawNFTVerdict(r *rapid.T, chain int) *expr.Verdict {
	codes := []expr.Code{expr.Accept, expr.Drop, expr.Return, expr.Continue, expr.Jump, expr.Goto, expr.Jump}
	if chain >= nftChains-1 {
		codes = codes[:4]
	}
	v := &expr.Verdict{Code: rapid.SampledFrom(codes).Draw(r, "code")}
	if v.Code == expr.Jump || v.Code == expr.Goto {
		v.Chain = drawNFTChain(r, chain+1)
	}
	return v
}

// drawNFTKey is a key of protocol, address and port as drawn packets have them.
func drawNFTKey(r *rapid.T) nftables.ElementSpec {
	src := netip.AddrFrom4([4]byte{10, 244, 0, byte(rapid.IntRange(11, 13).Draw(r, "src"))})
	return nftables.ElementSpec{Key: serviceKey(src, rapid.SampledFrom([]byte{6, 17}).Draw(r, "proto"),
		uint16(rapid.IntRange(80, 82).Draw(r, "dport")))}
}

// drawNFTRule is tests and look-ups, and what the rule then does, if anything.
func drawNFTRule(r *rapid.T, chain int) []expr.Expr {
	var exprs []expr.Expr
	key := list(loadNet(12, 4, 0), loadMeta(expr.MetaL4proto, 1), loadTransport(2, 2, 2))
	for range rapid.IntRange(0, 2).Draw(r, "conditions") {
		switch rapid.IntRange(0, 4).Draw(r, "condition") {
		case 0:
			exprs = append(exprs, stateNew()...)
		case 1:
			exprs = append(exprs, loadMeta(expr.MetaL4proto, 0), cmpEq(6))
		case 2:
			exprs = append(exprs, loadMeta(expr.MetaMark, 0), masked(1, 0), &expr.Cmp{Sreg: reg(0), Op: expr.Neq, Data: little(0)})
		default:
			exprs = append(append(exprs, key...), &expr.Lookup{Sreg: reg(0), Set: fmt.Sprintf("s%d", rapid.IntRange(0, 1).Draw(r, "set")),
				Invert: rapid.Bool().Draw(r, "invert")})
		}
	}
	switch rapid.IntRange(0, 4).Draw(r, "does") {
	case 0:
		return exprs
	case 1:
		return append(exprs, markXor(uint32(rapid.IntRange(1, 3).Draw(r, "bits")), rapid.Bool().Draw(r, "or"))...)
	case 2:
		if chain < nftChains {
			return append(append(exprs, key...), vmap(fmt.Sprintf("m%d", chain))...)
		}
	}
	v := drawNFTVerdict(r, chain)
	return append(exprs, verdictOf(v.Code, v.Chain)...)
}

// TestTailJump: a chain that does nothing but jump stands for the other one, also where that returns or goes on to a third. With a rule
// behind the jump it does not.
func TestTailJump(t *testing.T) {
	for _, row := range []struct {
		code        expr.Code
		alone, more Verdict
	}{
		{expr.Return, Accept, Drop}, {expr.Accept, Accept, Accept}, {expr.Drop, Drop, Drop}, {expr.Goto, Accept, Drop},
		{expr.Jump, Drop, Drop},
	} {
		for _, more := range []bool{false, true} {
			h, _ := testNode{}.build(t)
			n := newNFTText(nftables.IPv4, "t")
			n.base("c0", "filter", forward, 0)
			n.chain("c1", "c2")
			n.rule("c0", verdictOf(expr.Jump, "c1"))
			want := row.alone
			if more {
				n.rule("c0", verdictOf(expr.Drop, ""))
				want = row.more
			}
			to := ""
			if row.code == expr.Goto || row.code == expr.Jump {
				to = "c2"
			}
			n.rule("c1", verdictOf(row.code, to))
			n.rule("c1", verdictOf(expr.Drop, ""))
			n.rule("c2", markXor(1, true))
			n.into(t, h.Netfilter())
			o, err := h.Verdict(parse(t, "tcp 10.244.0.11:1000 > 10.244.0.12:80 in veth1"), SeededChance(1))
			require.NoError(t, err)
			assert.Equal(t, want, o.Verdict, "%d %t", row.code, more)
		}
	}
}

// TestNFTElementLeadsToTheChangedChain: what is kept beside an element's key is of the chain as it was when a packet went there.
func TestNFTElementLeadsToTheChangedChain(t *testing.T) {
	h, _ := testNode{}.build(t)
	k := kubeProxy(3).into(t, h.Netfilter())
	in, chance := parse(t, lastService(3)), SeededChance(1)
	for range 100 { // the map gets an index
		o, err := h.Verdict(in, chance)
		require.NoError(t, err)
		require.NotEmpty(t, o.DNAT)
	}
	table := k.State().Table(nftables.IPv4, "kube-proxy")
	_, beside := table.Set("service-ips").FindKey(nftables.KeyOfWords(&[4]uint32{}, 3), make([]byte, 12))
	require.NotNil(t, beside)
	chain := table.Chain(fmt.Sprintf("service-%08X-ns/svc%d/tcp/http", 2*7919, 2))
	require.Empty(t, k.Commit([]nftables.Change{&nftables.DeleteRule{Family: nftables.IPv4, Table: "kube-proxy", Chain: chain.Name,
		Handle: chain.Rules[0].Handle}}))
	for range 2 {
		o, err := h.Verdict(in, chance)
		require.NoError(t, err)
		require.Empty(t, o.DNAT)
	}
}

// TestNFTUnknownBytesAreForgotten: a packet of which a rule loads what nobody knows leaves the next one as it would be without it.
func TestNFTUnknownBytesAreForgotten(t *testing.T) {
	h, _ := testNode{}.build(t)
	kubeProxy(3).into(t, h.Netfilter())
	ping := parse(t, "icmp 10.244.0.11 > "+serviceAddr(3).String()+" in veth1")
	tainted := false
	_, err := h.Verdict(ping, SeededChance(1))
	require.NoError(t, err)
	for _, w := range h.idle {
		tainted = tainted || w.nft.regs.tainted || w.nft.regs.unknown != [expr.RegisterBytes]byte{}
	}
	require.NotEmpty(t, h.idle)
	assert.False(t, tainted)
}
