package packetsim

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// nftWay is the verdicts of the steps of a packet, each with its chain.
func nftWay(o *Outcome) []string {
	way := []string{}
	for _, s := range o.Steps {
		way = append(way, s.Chain+" "+s.Verdict)
	}
	return way
}

// forwardChain is a table with a base chain "b" at FORWARD.
func forwardChain(family nftables.Family) *nftText {
	n := newNFTText(family, "t")
	n.base("b", "filter", forward, 0)
	return n
}

func holding() []expr.Expr { return list(&expr.Limit{Rate: 1000, Unit: time.Second}) } // holds

// TestNFTVerdicts: what Linux 6.18 does with jumps, as nft monitor trace tells it.
func TestNFTVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		rules func(n *nftText)
		way   []string
	}{
		"a jump comes back": {func(n *nftText) {
			n.chain("c")
			n.rule("c", holding())
			n.rule("b", verdictOf(expr.Jump, "c"))
			n.rule("b", verdictOf(expr.Accept, ""))
		}, []string{"b jump c", "c continue", "c continue", "b accept"}},
		"a goto does not": {func(n *nftText) {
			n.chain("c")
			n.rule("b", verdictOf(expr.Goto, "c"))
			n.rule("b", verdictOf(expr.Drop, ""))
		}, []string{"b goto c", "c continue", "b accept"}},
		"behind a goto the end of a chain leads to the caller's caller": {func(n *nftText) {
			n.chain("c", "d")
			n.rule("c", verdictOf(expr.Goto, "d"))
			n.rule("c", verdictOf(expr.Drop, ""))
			n.rule("b", verdictOf(expr.Jump, "c"))
			n.rule("b", holding())
		}, []string{"b jump c", "c goto d", "d continue", "b continue", "b accept"}},
		"return in a base chain is its policy": {func(n *nftText) {
			n.rule("b", verdictOf(expr.Return, ""))
			n.rule("b", verdictOf(expr.Drop, ""))
		}, []string{"b return", "b accept"}},
		"what does not hold is no step": {func(n *nftText) {
			n.rule("b", list(loadMeta(expr.MetaL4proto, 0), cmpEq(17)), verdictOf(expr.Drop, ""))
		}, []string{"b accept"}},
		"continue of a map goes on": {func(n *nftText) {
			id := n.anonymous(nftables.SetSpec{Flags: nftables.SetMap, KeyLen: 1, DataType: nftables.DataVerdict, DataLen: 16, Size: 1},
				nftables.ElementSpec{Key: []byte{6}, Data: &expr.Data{Verdict: &expr.Verdict{Code: expr.Continue}}})
			n.rule("b", list(loadMeta(expr.MetaL4proto, 0), &expr.Lookup{Sreg: reg(0), Set: "__set%d", SetID: id, Map: true}))
			n.rule("b", verdictOf(expr.Drop, ""))
		}, []string{"b continue", "b drop"}},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := testNode{}.build(t)
			n := forwardChain(nftables.Inet)
			c.rules(n)
			n.into(t, h.Netfilter())
			outcomes, err := h.Walk(parse(t, "tcp 10.244.0.11:1000 > 8.8.8.8:80 in veth1"))
			require.NoError(t, err)
			require.Len(t, outcomes, 1)
			assert.Equal(t, c.way, nftWay(&outcomes[0]))
		})
	}
}

// TestNFTConntrack: as with iptables, nobody looks at packets unless some rule asks, and then nat chains are met by first packets alone.
func TestNFTConntrack(t *testing.T) {
	h, _ := testNode{}.build(t)
	n := newNFTText(nftables.IPv4, "t")
	n.base("b", "nat", postRouting, 100)
	n.rule("b", holding())
	n.into(t, h.Netfilter())
	in := parse(t, "udp 10.244.0.11:1000 > 8.8.8.8:80 in veth1")
	o, err := h.Step(in, SeededChance(1))
	require.NoError(t, err)
	assert.Empty(t, o.Steps, "no rule needs conntrack")
	assert.Empty(t, h.Conntrack())

	more := newNFTText(nftables.Inet, "u")
	more.chain("nobody")
	more.rule("nobody", list(&expr.CT{Key: expr.CTMark, Dreg: reg(0)}))
	more.into(t, h.Netfilter())
	for _, want := range [][]string{{"b continue", "b accept"}, {}} {
		o, err = h.Step(in, SeededChance(1))
		require.NoError(t, err)
		assert.Equal(t, want, nftWay(&o))
	}
	assert.Len(t, h.Conntrack(), 1)
}

// TestNFTNumbers: each number of numgen random is as likely as the others, exactly, and numgen inc begins with 0.
func TestNFTNumbers(t *testing.T) {
	h, _ := testNode{}.build(t)
	n := forwardChain(nftables.IPv4)
	n.rule("b", list(&expr.Numgen{Random: true, Modulus: 3, Dreg: reg(0)}, cmpEq(little(1)...)), verdictOf(expr.Drop, ""))
	n.rule("b", list(&expr.Numgen{Modulus: 2, Dreg: reg(0)}, cmpEq(little(0)...)), verdictOf(expr.Accept, ""))
	n.into(t, h.Netfilter())
	in := parse(t, "udp 10.244.0.11:1000 > 8.8.8.8:80 in veth1")
	outcomes, err := h.Walk(in)
	require.NoError(t, err)
	require.Len(t, outcomes, 2)
	assert.Equal(t, []float64{1. / 3, 2. / 3}, []float64{outcomes[0].Probability, outcomes[1].Probability})
	assert.Equal(t, []string{"b drop"}, nftWay(&outcomes[0]))
	assert.Equal(t, []string{"b accept"}, nftWay(&outcomes[1]))
	for _, want := range []int{1, 1, 1} { // a walk leaves nothing behind
		outcomes, err = h.Walk(in)
		require.NoError(t, err)
		assert.Len(t, outcomes[1].Steps, want)
	}
	ways := map[int]int{}
	for range 40 {
		o, err := h.Step(in, likely{})
		require.NoError(t, err)
		ways[len(o.Steps)]++
	}
	assert.Equal(t, map[int]int{1: 40}, ways, "its accept and the policy are one step each")
}

// TestNFTQuota: a packet may use the last byte of a quota, and none behind it (6.18).
func TestNFTQuota(t *testing.T) {
	h, _ := testNode{}.build(t)
	n := forwardChain(nftables.IPv4)
	n.rule("b", list(&expr.Quota{Bytes: 56}), verdictOf(expr.Accept, ""))
	n.rule("b", verdictOf(expr.Drop, ""))
	k := n.into(t, h.Netfilter())
	in := parse(t, "udp 10.244.0.11:1000 > 8.8.8.8:80 in veth1") // 28 bytes
	for _, want := range []Verdict{Accept, Accept, Drop} {
		o, err := h.Verdict(in, SeededChance(1))
		require.NoError(t, err)
		assert.Equal(t, want, o.Verdict)
		_, err = h.Step(in, SeededChance(1))
		require.NoError(t, err)
	}
	q := k.State().Table(nftables.IPv4, "t").Chain("b").Rules[0].Exprs[0].(*expr.Quota)
	assert.EqualValues(t, 84, q.Consumed.Bytes())
}

// TestNFTDynset: a packet adds itself, the next one finds it; a full set ends the rule.
func TestNFTDynset(t *testing.T) {
	h, clock := testNode{}.build(t)
	n := forwardChain(nftables.IPv4)
	n.set(nftables.SetSpec{Name: "s", Flags: nftables.SetEval | nftables.SetTimeout, KeyLen: 4, Size: 1, Timeout: time.Minute})
	n.rule("b", list(loadNet(16, 4, 0), &expr.Lookup{Sreg: reg(0), Set: "s"}), verdictOf(expr.Drop, ""))
	n.rule("b", list(loadNet(16, 4, 0), &expr.Dynset{Op: expr.DynsetUpdate, Key: reg(0), Set: "s"}), verdictOf(expr.Accept, ""))
	n.into(t, h.Netfilter())
	step := func(to string) []string {
		o, err := h.Step(parse(t, "udp 10.244.0.11:1000 > "+to+":80 in veth1"), SeededChance(1))
		require.NoError(t, err)
		return nftWay(&o)
	}
	look, err := h.Verdict(parse(t, "udp 10.244.0.11:1000 > 8.8.8.8:80 in veth1"), SeededChance(1))
	require.NoError(t, err)
	assert.Equal(t, Accept, look.Verdict)
	assert.Equal(t, []string{"b accept"}, step("8.8.8.8"))
	assert.Equal(t, []string{"b drop"}, step("8.8.8.8"))
	assert.Equal(t, []string{"b accept"}, step("8.8.4.4"), "the rule with the full set ends, and the policy holds")
	set := nftables.Of(h.Netfilter()).State().Table(nftables.IPv4, "t").Set("s")
	assert.Len(t, set.Elements(clock.Now()), 1)
}

// TestNFTNames: an expression that is not walked is named with its table, chain and handle, and so are bytes that a packet does not say.
func TestNFTNames(t *testing.T) {
	for name, c := range map[string]struct {
		exprs []expr.Expr
		want  string
	}{
		"meta cpu": {list(loadMeta(expr.MetaCPU, 0), cmpEq(little(0)...)), "not supported: expression meta (meta cpu)"},
		"symhash": {list(&expr.Hash{Symmetric: true, Modulus: 2, Dreg: reg(0)}, cmpEq(little(0)...)),
			"not supported: expression hash (symhash, which has a secret of the kernel's)"},
		"the identification of IPv4": {list(loadNet(4, 2, 0), cmpEq(0, 1)), errRegisterUnknown.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := testNode{}.build(t)
			n := forwardChain(nftables.IPv4)
			n.rule("b", c.exprs)
			n.into(t, h.Netfilter())
			_, err := h.Walk(parse(t, "udp 10.244.0.11:1000 > 8.8.8.8:80 in veth1"))
			var e *ExpressionError
			require.ErrorAs(t, err, &e)
			assert.Equal(t, c.want, e.Expression)
			assert.Equal(t, []string{"node", "ip", "t", "b"}, []string{e.Host, e.Family, e.Table, e.Chain})
			assert.NotZero(t, e.Handle)
		})
	}
}

// TestNFTUnknownKey: of a ping "th dport" is the checksum, which nobody has given. kube-proxy's rules ask for it, and it does not matter
// unless a set has an element with all the rest.
func TestNFTUnknownKey(t *testing.T) {
	ping := "icmp 10.244.0.11 > " + serviceAddr(3).String() + " in veth1"
	h, _ := testNode{}.build(t)
	kubeProxy(20).into(t, h.Netfilter())
	outcomes, err := h.Walk(parse(t, ping))
	require.NoError(t, err)
	require.Len(t, outcomes, 1)
	assert.Equal(t, Reject, outcomes[0].Verdict)

	h, _ = testNode{}.build(t)
	n := forwardChain(nftables.IPv4)
	n.set(nftables.SetSpec{Name: "s", KeyLen: 12}, nftables.ElementSpec{Key: serviceKey(serviceAddr(3), 1, 7)})
	n.rule("b", service(), list(&expr.Lookup{Sreg: reg(0), Set: "s"}))
	n.into(t, h.Netfilter())
	_, err = h.Walk(parse(t, ping))
	require.ErrorContains(t, err, errRegisterUnknown.Error())
}

// TestNFTMissed: a rule that does not hold tells which of its expressions did not.
func TestNFTMissed(t *testing.T) {
	h, _ := testNode{}.build(t)
	n := forwardChain(nftables.IPv4)
	n.rule("b", list(loadMeta(expr.MetaL4proto, 0), cmpEq(6), loadTransport(2, 2, 0), cmpEq(port(443)...)), verdictOf(expr.Drop, ""))
	n.into(t, h.Netfilter())
	outcomes, err := h.WalkWith(parse(t, "tcp 10.244.0.11:1000 > 8.8.8.8:80 in veth1"), WalkOptions{Missed: true})
	require.NoError(t, err)
	var missed []*RuleLook
	for _, e := range outcomes[0].Events {
		if e.Kind == EventMissed {
			missed = append(missed, e.Rule)
		}
	}
	require.Len(t, missed, 1)
	assert.Equal(t, "[ payload load 2b @ transport header + 2 => reg 1 ] [ cmp eq reg 1 0x0000bb01 ]", missed[0].Failed)
	assert.EqualValues(t, 443, missed[0].FailedAt.DstPorts.Min)
	assert.Equal(t, []string{"ip", "t", "b"}, []string{missed[0].Family, missed[0].Table, missed[0].Chain})
}

// TestNFTMissedAfterAChange: a rule that stands elsewhere in its chain since the last packet is told where it stands.
func TestNFTMissedAfterAChange(t *testing.T) {
	h, _ := testNode{}.build(t)
	n := forwardChain(nftables.IPv4)
	for _, to := range []uint16{443, 444} {
		n.rule("b", list(loadMeta(expr.MetaL4proto, 0), cmpEq(6), loadTransport(2, 2, 0), cmpEq(port(to)...)), verdictOf(expr.Drop, ""))
	}
	kernel := n.into(t, h.Netfilter())
	missed := func() (out []string) {
		outcomes, err := h.WalkWith(parse(t, "tcp 10.244.0.11:1000 > 8.8.8.8:80 in veth1"), WalkOptions{Missed: true})
		require.NoError(t, err)
		for _, rule := range missedRules(&outcomes[0]) {
			out = append(out, fmt.Sprintf("%d to %d", rule.Number, rule.FailedAt.DstPorts.Min))
		}
		return out
	}
	require.Equal(t, []string{"1 to 443", "2 to 444"}, missed())
	first := kernel.State().Table(nftables.IPv4, "t").Chain("b").Rules[0]
	gone := &nftables.DeleteRule{Family: nftables.IPv4, Table: "t", Chain: "b", Handle: first.Handle}
	require.Empty(t, kernel.Commit([]nftables.Change{gone}))
	assert.Equal(t, []string{"1 to 444"}, missed())
}

// TestNFTPlace: a chain at NAT's priority comes before it if it was registered later, and a dormant table has no chains.
func TestNFTPlace(t *testing.T) {
	way := func(first, second string, flags nftables.TableFlags) []string {
		h, _ := testNode{}.build(t)
		for _, kind := range []string{first, second} {
			n := newNFTText(nftables.IPv4, kind)
			n.changes[0].(*nftables.AddTable).Flags = flags
			n.base(kind, kind, preRouting, -100)
			n.rule(kind, stateNew())
			n.into(t, h.Netfilter())
		}
		outcomes, err := h.Walk(parse(t, "udp 10.244.0.11:1000 > 8.8.8.8:80 in veth1"))
		require.NoError(t, err)
		return nftWay(&outcomes[0])
	}
	assert.Equal(t, []string{"filter continue", "filter accept", "nat continue", "nat accept"}, way("nat", "filter", 0))
	assert.Equal(t, []string{"nat continue", "nat accept", "filter continue", "filter accept"}, way("filter", "nat", 0))
	assert.Empty(t, way("nat", "filter", nftables.TableDormant))
}

// TestNFTReject: the answers of inet by family, and those before the packet has a route.
func TestNFTReject(t *testing.T) {
	for _, c := range []struct {
		packet string
		reject expr.Reject
		with   string
	}{
		{"udp 10.244.0.11:1000 > 8.8.8.8:80 in veth1", expr.Reject{Kind: expr.RejectICMPX, Code: 3}, "icmp-admin-prohibited"},
		{"udp [fd00:2::11]:1000 > [fd00:9::1]:80 in veth1", expr.Reject{Kind: expr.RejectICMPX, Code: 3}, "icmp6-adm-prohibited"},
		{"udp 10.244.0.11:1000 > 8.8.8.8:80 in veth1", expr.Reject{Kind: expr.RejectICMPX, Code: 2}, "icmp-host-unreachable"},
		{"udp [fd00:2::11]:1000 > [fd00:9::1]:80 in veth1", expr.Reject{Kind: expr.RejectICMPX, Code: 2}, "icmp6-addr-unreachable"},
		{"tcp 10.244.0.11:1000 > 8.8.8.8:80 in veth1", expr.Reject{Kind: expr.RejectTCPReset}, "tcp-reset"},
	} {
		for _, at := range []hook{preRouting, forward} {
			h, _ := testNode{}.build(t)
			n := newNFTText(nftables.Inet, "t")
			n.base("b", "filter", at, 0)
			n.rule("b", list(&c.reject))
			n.into(t, h.Netfilter())
			outcomes, err := h.Walk(parse(t, c.packet))
			require.NoError(t, err)
			assert.Equal(t, Reject, outcomes[0].Verdict)
			assert.Equal(t, c.with, outcomes[0].RejectWith)
			assert.Len(t, outcomes[0].Replies, 1)
		}
	}
}
