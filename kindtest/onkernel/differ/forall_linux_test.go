package differ

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/forall/walked"
	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

var (
	forallPackets = flag.Int("forall-packets", 0, "packets to compare with walks in random rulesets of all languages and families; "+
		"0: as many as a test of all packages has")
	forallSeed = flag.Uint64("forall-seed", 1, "of the rulesets and packets")
)

// comparedPackets are so many if nobody asks for more. A test that takes a part of its cases takes a part of them (internal/sample).
const comparedPackets = 7200

// TestFatesOfRandomRulesets compares the fates of all packets with those of single ones, by the rulesets that are compared with the kernel.
func TestFatesOfRandomRulesets(t *testing.T) {
	race.OneGoroutine(t)
	languages, families := []string{"legacy", "nft", "nftables"}, []netfilter.Family{netfilter.IPv4, netfilter.IPv6}
	packets := cmp.Or(*forallPackets, comparedPackets/sample.Every(4)) / len(languages) / len(families)
	for l, language := range languages {
		for _, family := range families {
			t.Run(fmt.Sprintf("%s/%d", language, family), func(t *testing.T) {
				var all walked.Report
				g := &gen{r: rand.New(rand.NewPCG(*forallSeed, uint64(family)+uint64(l)<<8)), w: worlds[family]}
				for n := 0; all.Asked < packets; n++ {
					h, text := drawnRoutedHost(t, g, language)
					if h == nil {
						continue
					}
					f, err := forall.Of(h, forall.Options{Chance: forall.Exact, Families: []netfilter.Family{family}, Replies: n%2 == 1})
					require.NoError(t, err)
					r := walked.Compare(f, rand.New(rand.NewPCG(*forallSeed, uint64(n))), min(850, max(200, packets/100)))
					all.Add(r)
					if !assert.Empty(t, r.Wrong, "ruleset %d: %s\n%s", n, r.Text(), text) {
						break
					}
				}
				t.Log(&all)
				fmt.Printf("%s: %s\n", t.Name(), &all)
			})
		}
	}
}

// restoring is the call that loads rules of a language, and the tools that it is of.
func restoring(language string, family netfilter.Family) (netfilter.Dialect, []string) {
	switch {
	case language == "nftables":
		return netfilter.NFT, []string{"nft", "-f", "-"}
	case family == netfilter.IPv6:
		return netfilter.Dialect(language), []string{"ip6tables-restore"}
	}
	return netfilter.Dialect(language), []string{"iptables-restore"}
}

// drawnHost is the walk's node with a random ruleset without sets of ipset and accounting objects; nil if the tools refuse it.
func drawnHost(t *testing.T, g *gen, language string) (*packetsim.Host, string) {
	t.Helper()
	dialect, argv := restoring(language, g.w.family)
	return hostOf(t, dialect, argv, g.withoutObjects(language))
}

// withoutObjects is a random ruleset without sets of ipset and accounting objects.
func (g *gen) withoutObjects(language string) string {
	draw := g.ruleset
	if language == "nftables" {
		draw = g.nativeRuleset
	}
	text := draw()
	for g.usesAccounts || g.usesSets {
		text = draw()
	}
	return text
}

// drawnRoutedHost is like drawnHost, but every second node has a random routing policy, which the text says then.
func drawnRoutedHost(t *testing.T, g *gen, language string) (*packetsim.Host, string) {
	t.Helper()
	if g.chance(50) {
		return drawnHost(t, g, language)
	}
	dialect, argv := restoring(language, g.w.family)
	text := g.withoutObjects(language)
	if language == "nftables" && (g.w.family == netfilter.IPv4 || g.chance(15)) { // it takes seconds in IPv6
		text += g.markedLookups()
	}
	h, text := hostOf(t, dialect, argv, text)
	if h == nil {
		return nil, text
	}
	config := h.Config()
	g.addRoutingPolicy(&config)
	h, err := packetsim.NewHost(config)
	require.NoError(t, err)
	return h, fmt.Sprintf("%s\npolicy rules %+v\nroutes %+v\n", text, config.PolicyRules, config.Routes)
}

// markedLookups is a table that marks packets before others see them, and then looks for their routes.
func (g *gen) markedLookups() string {
	var b strings.Builder
	ip := map[netfilter.Family]string{netfilter.IPv4: "ip", netfilter.IPv6: "ip6"}[g.w.family]
	fmt.Fprintf(&b, "table %s marked {\n\tchain pre {\n\t\ttype filter hook prerouting priority -350; policy accept;\n", ip)
	for range 3 {
		fmt.Fprintf(&b, "\t\t%s %s %s mark set %s\n", ip, g.oneOf("saddr", "daddr"), g.network(), g.oneOf("1", "2", "3", "0x4000", routedWord))
	}
	for range 2 {
		fmt.Fprintf(&b, "\t\tfib %saddr . mark%s %s %s\n", g.oneOf("s", "d"), g.oneOf("", " . iif"),
			g.oneOf("oif missing", "oif exists", "oifname "+serverDev, "oifname "+clientDev), g.oneOf("drop", "accept", "mark set 0", "notrack"))
		fmt.Fprintf(&b, "\t\tfib %saddr . mark type %s %s\n", g.oneOf("s", "d"),
			g.oneOf("unicast", "blackhole", "unreachable", "prohibit", "local"), g.oneOf("drop", "accept", "mark set 1", "counter"))
	}
	return b.String() + "\t}\n}\n"
}

// addRoutingPolicy has the node choose routes by marks that rules set, and now and then by what else ip rule asks for.
func (g *gen) addRoutingPolicy(config *packetsim.HostConfig) {
	rules := []packetsim.PolicyRule{{Table: packetsim.TableLocal}}
	if g.chance(20) { // the table local may have any priority, and packets to the node another route then
		rules[0].Priority = 3
	}
	for n := range 1 + g.r.IntN(3) {
		marks := []uint32{1, 1, 2, 2, 3, 0x4000, routedMark}
		rule := packetsim.PolicyRule{
			Priority: uint32(n + 2), Mark: marks[g.r.IntN(len(marks))], Invert: g.chance(15), Table: packetsim.RouteTable(100 + g.r.IntN(2)),
		}
		if g.chance(50) {
			rule.MarkMask = rule.Mark
		}
		if g.chance(20) {
			rule.From = netip.PrefixFrom(g.w.clients[0], g.w.clients[0].BitLen())
		}
		if g.chance(20) {
			rule.To = g.w.networks[g.r.IntN(len(g.w.networks))]
		}
		if g.chance(15) {
			rule.In = g.oneOf(clientDev, serverDev, "lo")
		}
		if g.chance(20) {
			actions := []packetsim.RuleAction{packetsim.RuleUnreachable, packetsim.RuleProhibit, packetsim.RuleBlackhole}
			rule.Action, rule.Table = actions[g.r.IntN(len(actions))], 0
		}
		rules = append(rules, rule)
	}
	rules = append(rules, packetsim.PolicyRule{Priority: 100, Table: packetsim.TableMain})
	for i := range rules {
		rules[i].Family = g.w.family
	}
	config.PolicyRules = rules // the other family has those of the kernel
	types := []packetsim.RouteType{packetsim.RouteUnreachable, packetsim.RouteProhibit, packetsim.RouteBlackhole, packetsim.RouteThrow,
		packetsim.RouteLocal}
	for _, table := range []packetsim.RouteTable{100, 101} {
		for _, dst := range g.w.networks {
			route := packetsim.Route{Dst: dst, Table: table, Dev: g.oneOf(clientDev, serverDev)}
			if g.chance(40) {
				if route.Type = types[g.r.IntN(len(types))]; route.Type != packetsim.RouteLocal {
					route.Dev = ""
				} else {
					route.Dev = "lo"
				}
			}
			if g.chance(70) {
				config.Routes = append(config.Routes, route)
			}
		}
	}
}

// hostOf is the walk's node with the rules of a text that its tools do not refuse, and these rules; nil if they refuse all of it.
func hostOf(t *testing.T, dialect netfilter.Dialect, argv []string, text string) (*packetsim.Host, string) {
	t.Helper()
	kernel, text := loadedKernel(t, dialect, argv, text)
	if kernel == nil {
		return nil, text
	}
	template, err := newHost(fakeipt.New(fakeipt.Options{Dialect: netfilter.Legacy}))
	require.NoError(t, err)
	config := template.Config()
	config.Netfilter = kernel.Namespace()
	h, err := packetsim.NewHost(config)
	require.NoError(t, err)
	return h, text
}

// loadedKernel is a kernel with the rules of a text that its tools do not refuse; nil if they refuse all of it.
func loadedKernel(t *testing.T, dialect netfilter.Dialect, argv []string, text string) (*fakekernel.Kernel, string) {
	t.Helper()
	for range mostRefusals {
		kernel := fakekernel.New(fakekernel.Options{Dialect: dialect})
		command := kernel.Exec().Command(argv[0], argv[1:]...)
		command.SetStdin(strings.NewReader(text))
		out, err := command.CombinedOutput()
		if err == nil {
			return kernel, text
		}
		lines := strings.SplitAfter(text, "\n")
		wrong := refusedRules(lines, string(out))
		if len(wrong) == 0 {
			return nil, text
		}
		for _, n := range slices.Backward(wrong) {
			lines = slices.Delete(lines, n, n+1)
		}
		text = strings.Join(lines, "")
	}
	return nil, text
}
