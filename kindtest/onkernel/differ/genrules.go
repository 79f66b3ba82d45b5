package differ

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// gen makes rulesets and packets of one family from a seed.
type gen struct {
	r *rand.Rand
	w *world
	// off are the pieces that are left out, by name.
	off map[string]bool
	// favoured are the pieces that every second choice falls on, by name.
	favoured []string
	// used is how often each piece was chosen, protocols are the protocols that rules of this ruleset name.
	used         map[string]int
	protocols    []string
	serial       int
	usesSets     bool
	usesAccounts bool
}

func (g *gen) chance(percent int) bool { return g.r.IntN(100) < percent }

func (g *gen) oneOf(texts ...string) string { return texts[g.r.IntN(len(texts))] }

// not puts an exclamation mark before an option now and then.
func (g *gen) not(option string) string {
	if g.chance(20) {
		return "! " + option
	}
	return option
}

func (g *gen) oneAddr(lists ...[]netip.Addr) string {
	list := lists[g.r.IntN(len(lists))]
	return list[g.r.IntN(len(list))].String()
}

func (g *gen) next(addr string) string { return netip.MustParseAddr(addr).Next().String() }
func (g *gen) last(addr string) string { return g.next(g.next(addr)) }

// unique is a name of this ruleset alone, so that lists of the rulesets before are not met again.
func (g *gen) unique(prefix string) string {
	g.serial++
	return fmt.Sprintf("%s%d", prefix, g.serial)
}

// list is a list of the recent match that rules of this ruleset share.
func (g *gen) list() string { return fmt.Sprintf("%s%d", g.oneOf("a", "b"), g.serial/1000) }

// tableHooks are the built-in chains of each table, in the order of the tables in the ruleset.
var tableHooks = []struct {
	table string
	hooks []string
}{
	{"raw", []string{"PREROUTING", "OUTPUT"}},
	{"mangle", []string{"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"}},
	{"nat", []string{"PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"}},
	{"filter", []string{"INPUT", "FORWARD", "OUTPUT"}},
}

// ruleChain is a chain that gets rules, and the hooks that reach it.
type ruleChain struct {
	name  string
	user  bool
	hooks []string
}

// ruleset makes the input of iptables-restore.
func (g *gen) ruleset() string {
	g.serial = (g.serial/1000 + 1) * 1000
	g.usesSets, g.usesAccounts, g.protocols = false, false, nil
	var b strings.Builder
	for _, t := range tableHooks {
		g.table(&b, t.table, t.hooks)
	}
	return b.String()
}

// busy is how many percent of the rulesets use a table.
var busy = map[string]int{"raw": 40, "mangle": 60, "nat": 85, "filter": 90}

func (g *gen) table(b *strings.Builder, table string, hooks []string) {
	fmt.Fprintf(b, "*%s\n", table)
	for _, h := range hooks {
		policy := "ACCEPT"
		if table == "filter" && g.chance(10) {
			policy = "DROP"
		}
		fmt.Fprintf(b, ":%s %s [0:0]\n", h, policy)
	}
	var chains []ruleChain
	if g.chance(busy[table]) {
		chains = g.chains(table, hooks)
	}
	for _, c := range chains {
		if c.user {
			fmt.Fprintf(b, ":%s - [0:0]\n", c.name)
		}
	}
	if table == "raw" {
		b.WriteString("-A PREROUTING -j TRACE\n-A OUTPUT -j TRACE\n")
	}
	for i, c := range chains {
		most := 4
		if c.user {
			most = 5
		}
		for range g.r.IntN(most + 1) {
			b.WriteString("-A " + c.name + g.rule(table, &c, chains[i+1:]) + "\n")
		}
	}
	if table == "mangle" && g.chance(60) {
		for _, s := range sensors {
			if strings.Contains(s, "connmark") && g.off["connmark"] {
				continue
			}
			fmt.Fprintf(b, "-A INPUT %s\n-A POSTROUTING %s\n", s, s)
		}
	}
	b.WriteString("COMMIT\n")
}

// sensors are rules without a target that show in the trace what the rules before them made of the packet.
var sensors = []string{
	"-m mark --mark 0x1/0x1", "-m mark --mark 0x2/0x2", "-m mark --mark 0x4000/0x4000", "-m connmark --mark 0x1/0x1",
	"-m conntrack --ctstate DNAT",
}

// chains chooses the chains of a table. A chain jumps to later ones only.
func (g *gen) chains(table string, hooks []string) []ruleChain {
	var chains []ruleChain
	for _, h := range hooks {
		if g.chance(75) {
			chains = append(chains, ruleChain{name: h, hooks: []string{h}})
		}
	}
	for i := range g.r.IntN(5) {
		reach := slices.Clone(hooks)
		switch {
		case table == "nat" && g.chance(70):
			reach = []string{"PREROUTING", "OUTPUT"}
		case table == "nat":
			reach = []string{"POSTROUTING"}
		case g.chance(40):
			reach = []string{g.oneOf(hooks...)}
		}
		chains = append(chains, ruleChain{name: fmt.Sprintf("C%d", i+1), user: true, hooks: reach})
	}
	return chains
}

// rule is a rule without its chain, with a blank in front.
func (g *gen) rule(table string, c *ruleChain, later []ruleChain) string {
	proto := ""
	words := ""
	if g.chance(60) {
		if proto = g.oneOf("tcp", "tcp", "tcp", "udp", "udp", "icmp", "sctp", "esp"); proto == "esp" && g.w.family == netfilter.IPv4 {
			proto = g.oneOf("esp", "ah") // an IPv6 packet has the latter before the header of its protocol
		}
		words += " -p " + protoWord(proto, g.w.family)
		g.protocols = append(g.protocols, proto)
	} else if g.chance(8) {
		words += " ! -p " + g.oneOf("tcp", "udp", "47")
	}
	used := map[string]bool{}
	for range g.r.IntN(3) {
		p := g.pick(matchPieces, table, c, proto)
		if p == nil {
			continue
		}
		text := p.text(g)
		if kind := matchKind(text); !used[kind] {
			used[kind] = true
			words += " " + text
		}
	}
	target := g.target(table, c, later, proto)
	if g.chance(5) && !g.off["random"] {
		words += " " + randomPiece.text(g)
	}
	if target != "" {
		words += " " + target
	}
	return words
}

// matchKind is what a rule may have only once: the option of the rule itself, or the match extension.
func matchKind(text string) string {
	words := strings.Fields(text)
	if words[0] == "!" {
		words = words[1:]
	}
	if words[0] == "-m" {
		return words[1]
	}
	return words[0]
}

func (g *gen) target(table string, c *ruleChain, later []ruleChain, proto string) string {
	switch n := g.r.IntN(100); {
	case n < 35:
		if jump := g.jump(c, later); jump != "" {
			return jump
		}
	case n < 45:
		return "-j " + g.verdict(table)
	}
	if p := g.pick(targetPieces, table, c, proto); p != nil {
		return p.text(g)
	}
	return ""
}

// verdict avoids DROP in nat, which both tools refuse.
func (g *gen) verdict(table string) string {
	if table == "nat" {
		return g.oneOf("ACCEPT", "RETURN", "RETURN")
	}
	return g.oneOf("ACCEPT", "ACCEPT", "RETURN", "RETURN", "DROP")
}

// jump goes to a later chain that every hook of this one may reach.
func (g *gen) jump(c *ruleChain, later []ruleChain) string {
	var fit []string
	for _, l := range later {
		if l.user && !slices.ContainsFunc(c.hooks, func(h string) bool { return !slices.Contains(l.hooks, h) }) {
			fit = append(fit, l.name)
		}
	}
	if len(fit) == 0 {
		return ""
	}
	return g.oneOf("-j ", "-j ", "-j ", "-g ") + g.oneOf(fit...)
}

// pick chooses a piece that fits: by weight, or the one that was chosen least, so that a short run has them all.
func (g *gen) pick(pieces []piece, table string, c *ruleChain, proto string) *piece {
	var fit []*piece
	total := 0
	for i := range pieces {
		if p := &pieces[i]; p.fits(g, table, c, proto) {
			fit = append(fit, p)
			total += p.weight
		}
	}
	if len(fit) == 0 {
		return nil
	}
	if favoured := g.favouredOf(fit); len(favoured) > 0 && g.chance(50) {
		return favoured[g.r.IntN(len(favoured))]
	}
	chosen := slices.MinFunc(fit, func(a, b *piece) int { return g.used[a.name] - g.used[b.name] })
	if n := g.r.IntN(total); g.chance(60) {
		i := slices.IndexFunc(fit, func(p *piece) bool {
			n -= p.weight
			return n < 0
		})
		chosen = fit[i]
	}
	if g.used == nil {
		g.used = map[string]int{}
	}
	g.used[chosen.name]++
	return chosen
}

func (g *gen) favouredOf(pieces []*piece) []*piece {
	return slices.DeleteFunc(slices.Clone(pieces), func(p *piece) bool { return !slices.Contains(g.favoured, p.name) })
}
