package forall_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// keptClients are rules of three services, of which that in the middle keeps its clients with one of its endpoints by a rule and a set for
// each. Who comes from an endpoint meets other rules, so that the ways there grow with the cube of the number of endpoints.
func keptClients(endpoints int) string {
	var sets, rules, chains, draws strings.Builder
	for e := range endpoints {
		pod := fmt.Sprintf("10.244.%d.%d", e/250, e%250+2)
		fmt.Fprintf(&sets, "\tset kept-%d {\n\t\ttype ipv4_addr\n\t\tflags dynamic,timeout\n\t\ttimeout 3h\n\t}\n", e)
		fmt.Fprintf(&rules, "\t\tip saddr @kept-%d goto endpoint-%d\n", e, e)
		fmt.Fprintf(&chains, "\tchain endpoint-%d {\n\t\tip saddr %s meta mark set 0x00004000\n\t\tupdate @kept-%d { ip saddr }\n"+
			"\t\tmeta l4proto tcp dnat to %s:8080\n\t}\n", e, pod, e, pod)
		fmt.Fprintf(&draws, "%s%d : goto endpoint-%d", strings.Repeat(", ", min(e, 1)), e, e)
	}
	return "table ip t {\n" + sets.String() + `	map services {
		type ipv4_addr . inet_proto . inet_service : verdict
		elements = { 10.96.0.1 . tcp . 80 : goto before, 10.96.0.2 . tcp . 80 : goto keeping, 10.96.0.3 . tcp . 80 : goto behind }
	}
` + chains.String() + "\tchain keeping {\n" + rules.String() +
		fmt.Sprintf("\t\tnumgen random mod %d vmap { %s }\n\t}\n", endpoints, draws.String()) + `	chain before {
		meta l4proto tcp dnat to 10.244.99.1:8080
	}
	chain behind {
		meta l4proto tcp dnat to 10.244.99.2:8080
	}
	chain pre {
		type nat hook prerouting priority dstnat; policy accept;
		ip daddr . meta l4proto . th dport vmap @services
	}
}
`
}

// isTooLarge says whether the fates of packets are not known for want of memory.
func isTooLarge(d forall.Distribution) bool {
	return len(d) == 1 && strings.HasPrefix(d[0].Fate.Unmodelled, "more ways through the rules than ")
}

// TestWhatNeedsTooMuchMemoryIsNotKnown gives the ways to one service less memory than they need: all other packets have the fates that they
// have anyway.
func TestWhatNeedsTooMuchMemoryIsNotKnown(t *testing.T) {
	h := hostOfServices(t, keptClients(40))
	whole := fatesOf(t, h, nil)
	for name, o := range map[string]forall.Options{
		"alone": {}, "beside": {Against: whole},
		"generations": forall.Options{}.ForgettingAfter(1), "later generations": forall.Options{}.ForgettingAfter(300),
	} {
		t.Run(name, func(t *testing.T) {
			o.Families, o.Memory = only4, 1<<20
			f, err := forall.Of(h, o)
			require.NoError(t, err)
			kinds := 0
			for d := range whole.Diff(f) {
				kinds++
				assert.Equal(t, "10.96.0.2", d.Space.Dst.String())
				assert.True(t, isTooLarge(d.There), d.There)
			}
			assert.NotZero(t, kinds)
			for _, to := range []string{"10.96.0.1", "10.96.0.3"} {
				got, err := f.At(inet.Input{In: "veth1", Packet: forall.Usual(inet.Packet{Proto: inet.TCP, Src: netip.MustParseAddr("198.51.100.10"),
					Dst: netip.MustParseAddr(to), SrcPort: 40000, DstPort: 80}, forall.New)})
				require.NoError(t, err)
				assert.Equal(t, "10.244.99.", got[0].Fate.Dst.String()[:10])
			}
		})
	}
}

// TestWorkedOutAgainWithTooLittleMemory changes a rule of the service that needs too much.
func TestWorkedOutAgainWithTooLittleMemory(t *testing.T) {
	text := keptClients(40)
	o := forall.Options{Families: only4, Memory: 1 << 20}
	f, err := forall.Of(hostOfServices(t, strings.Replace(text, "10.96.0.2 . tcp . 80 : goto keeping", "10.96.0.2 . tcp . 80 : drop", 1)), o)
	require.NoError(t, err)
	o.Against = f
	g, err := forall.Of(hostOfServices(t, text), o)
	require.NoError(t, err)
	different := slices.Collect(f.Diff(g))
	require.Len(t, different, 2)
	for _, d := range different {
		assert.Equal(t, "10.96.0.2", d.Space.Dst.String())
		assert.True(t, isTooLarge(d.There), d.There)
	}
}

// TestLawLittleMemory works out all packets with little memory: their fates are as otherwise or not known. Fates beside them that may
// have more memory are known.
func TestLawLittleMemory(t *testing.T) {
	sample.Checks(t, 12)
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		h, whole := lawFates(t, ruleset(drawnRules(t)), nil)
		o := forall.Options{Families: only4, Chance: forall.Exact, Memory: rapid.IntRange(1, 200_000).Draw(t, "bytes")}
		f, err := forall.Of(h, o.ForgettingAfter(rapid.SampledFrom([]int{1, 50, 300, 4096}).Draw(t, "nodes")))
		require.NoError(t, err)
		for d := range whole.Diff(f) {
			require.True(t, isTooLarge(d.There), "%s: %s", d.Witness, d.There)
			refused++
		}
		again := forall.Options{Families: only4, Chance: forall.Exact, Against: f}
		g, err := forall.Of(h, again.Alone())
		require.NoError(t, err)
		require.True(t, whole.Equal(g))
	})
	assert.NotZero(t, refused)
}

// TestRepliesThatNeedTooMuchMemory says what to do.
func TestRepliesThatNeedTooMuchMemory(t *testing.T) {
	h := hostOfServices(t, keptClients(40))
	for name, o := range map[string]forall.Options{
		"replies": {Replies: true}, "through": {Name: "a", Through: []forall.Node{{Name: "b", Host: h}}},
	} {
		o.Families, o.Memory = only4, 1<<20
		_, err := forall.Of(h, o)
		require.ErrorContains(t, err, "need more than 1 MB of memory: ask without replies, or about one host", name)
		o.Memory = 0
		_, err = forall.Of(h, o)
		require.NoError(t, err, name)
	}
}
