package forall_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/forall/walked"
	"github.com/chainwalk/chainwalk/internal/sample"
)

// drawnSharing are rules that ask for destinations in sets, and lead to chains in several ways: with one mark or another, before and behind
// the translation of destinations.
func drawnSharing(t *rapid.T) string {
	one := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	addrs := []string{"10.96.0.1", "10.96.0.2", "10.96.0.4", "10.244.0.2", "10.244.0.3", "172.18.0.3"}
	some := func(name string) string {
		drawn := rapid.SliceOfNDistinct(rapid.SampledFrom(addrs), 1, 4, rapid.ID[string]).Draw(t, name)
		return strings.Join(drawn, ", ")
	}
	lines := func(name string, most int, of ...string) string {
		var b strings.Builder
		for range rapid.IntRange(0, most).Draw(t, name) {
			b.WriteString("\t\t" + one(name+" rule", of...) + "\n")
		}
		return b.String()
	}
	condition := func() string {
		return one("condition", "", "ip daddr @a ", "ip daddr @b ", "ip daddr != @a ", "ip daddr { "+some("anonymous")+" } ",
			"ip daddr & 255.255.255.254 == 10.96.0.4 ", "ip daddr 10.96.0.0/30 ", "ip saddr 10.244.0.0/16 ", "meta mark 0x1 ",
			"ct original ip daddr 10.96.0.1 ", "ct status dnat ", "tcp dport 80 ", "ct mark 0x1 ", "fib daddr type local ", "iifname \"cni0\" ")
	}
	filters := func() []string {
		return []string{condition() + "drop", condition() + "mark set 0x1", condition() + "mark set meta mark xor 0x2",
			condition() + "ct mark set mark", condition() + "return", condition() + "jump c", condition() + "jump d",
			"ip daddr vmap { 10.96.0.1 : jump c, 10.96.0.2 : jump d, 10.244.0.2 : drop }"}
	}
	nats := append(filters(), condition()+"jump n", condition()+"meta l4proto tcp jump n", condition()+"meta l4proto udp dnat to 10.244.0.3",
		condition()+"meta l4proto tcp dnat to "+one("target", addrs...)+":"+one("port", "80", "8080"))
	set := func(name string) string {
		counter := one("counter", "", "", "\t\tcounter\n")
		return fmt.Sprintf("\tset %s {\n\t\ttype ipv4_addr\n%s\t\telements = { %s }\n\t}\n\n", name, counter, some(name))
	}
	base := func(name, kind, hook, priority, rules string) string {
		return fmt.Sprintf("\tchain %s {\n\t\ttype %s hook %s priority %s; policy accept;\n%s\t}\n\n", name, kind, hook, priority, rules)
	}
	last := []string{condition() + "drop", condition() + "mark set 0x1", condition() + "accept", condition() + "ct mark set mark",
		"mark set 0x0"}
	draw := fmt.Sprintf("meta l4proto %s dnat ip to numgen random mod 2 map { 0 : 10.244.0.2 . 80, 1 : 10.244.0.%s . 8080 }",
		one("draw", "tcp", "udp"), one("second", "2", "3", "4"))
	return "table ip t {\n" + set("a") + set("b") +
		"\tchain d {\n" + lines("d", 2, last...) + "\t}\n\n" +
		"\tchain c {\n" + lines("c", 2, append(last, condition()+"goto d")...) + "\t}\n\n" +
		"\tchain n {\n\t\t" + draw + "\n\t}\n\n" +
		base("early", "filter", "prerouting", "raw", lines("early", 2, filters()...)) +
		base("pre", "nat", "prerouting", "dstnat", lines("pre", 3, nats...)) +
		base("out", "nat", "output", "-100", lines("out", 3, nats...)) +
		base("in", "filter", "input", "filter", lines("in", 2, filters()...)) +
		base("forward", "filter", "forward", "filter", lines("forward", 2, filters()...)) +
		base("output", "filter", "output", "filter", lines("output", 2, filters()...)) +
		base("post", "nat", "postrouting", "srcnat", lines("post", 2, condition()+"masquerade", condition()+"mark set 0x1", "jump c")) + "}\n"
}

// TestLawOfWhatIsShared works the fates of rules out that lead packets of several kinds the same way, and compares them with walks: what
// is worked out once for all of these is right for each.
func TestLawOfWhatIsShared(t *testing.T) {
	sample.Checks(t, 24)
	var asked int
	rapid.Check(t, func(t *rapid.T) {
		text := drawnSharing(t)
		h := hairpinHost(t, text)
		o := forall.Options{Families: only4, Chance: forall.Exact}
		f, err := forall.Of(h, o)
		require.NoError(t, err)
		g, err := forall.Of(h, o.Alone())
		require.NoError(t, err)
		require.True(t, f.Equal(g), text)
		r := walked.Compare(f, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), 60)
		require.Empty(t, r.Wrong, r.Text()+text)
		asked += r.Asked
	})
	assert.NotZero(t, asked)
}
