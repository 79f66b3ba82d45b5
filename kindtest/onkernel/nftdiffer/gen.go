package nftdiffer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// gen makes random sessions. The same seed gives the same ones.
type gen struct {
	r *rand.Rand
	// asked counts what was asked about: options, commands, expressions, forms of values, statements.
	asked map[string]int
	// recorded are the sessions of people, and phrases their lines.
	recorded [][]step
	phrases  *phrases
	// What the commands so far have named: much of it is there.
	tables []genTable
}

// genTable is a table that a session has made.
type genTable struct {
	family, name string
	chains       []string
	sets         []genSet
	objects      map[string][]string // by kind
}

// genSet is a set or map that a session has made.
type genSet struct {
	name string
	keys []kind
	data string // of a map: "verdict", or the name of a type
	key  string // the expression that fits
	// ranges: it has the flag interval.
	ranges bool
}

func newGen(seed uint64) (*gen, error) {
	sessions, err := recorded()
	if err != nil {
		return nil, err
	}
	return &gen{r: rand.New(rand.NewPCG(seed, seed)), asked: map[string]int{}, recorded: sessions, phrases: phrasesOf(sessions)}, nil
}

// ask counts something.
func (g *gen) ask(kind, what string) string {
	g.asked[kind+" "+what]++
	return what
}

// noted counts something that has no word of its own.
func (g *gen) noted(kind, what string) string {
	g.ask(kind, what)
	return ""
}

// in says yes once in n times.
func (g *gen) in(n int) bool { return g.r.IntN(n) == 0 }

func (g *gen) n(n int) int { return g.r.IntN(n) }

// one draws one of some words.
func (g *gen) one(words ...string) string { return words[g.r.IntN(len(words))] }

// session makes the steps of one namespace.
func (g *gen) session() []step {
	g.tables = nil
	if g.in(3) {
		return g.damagedSession()
	}
	steps := []step{{Args: []string{"-f", "-"}, Stdin: g.start()}}
	for range 3 + g.n(10) {
		steps = append(steps, g.step())
	}
	return steps
}

// start makes some tables with chains.
func (g *gen) start() string {
	var b strings.Builder
	for range 1 + g.n(3) {
		t := genTable{family: g.family(), name: g.one("t", "filter", "kube-proxy", "u"), objects: map[string][]string{}}
		if slices.ContainsFunc(g.tables, func(o genTable) bool { return o.family == t.family && o.name == t.name }) {
			continue
		}
		fmt.Fprintf(&b, "add table %s %s\n", t.family, t.name)
		for _, c := range []string{"c", "d", "input-chain"} {
			fmt.Fprintf(&b, "add chain %s %s %s\n", t.family, t.name, c)
			t.chains = append(t.chains, c)
		}
		g.tables = append(g.tables, t)
	}
	return b.String()
}

func (g *gen) family() string {
	return g.ask("family", g.one("ip", "ip", "ip", "ip6", "ip6", "inet", "inet", "inet", "bridge", "arp", "netdev"))
}

// table draws a table that there is, mostly.
func (g *gen) table() *genTable {
	if len(g.tables) == 0 || g.in(60) {
		return &genTable{family: g.family(), name: "nowhere", chains: []string{"c"}}
	}
	return &g.tables[g.n(len(g.tables))]
}

func (g *gen) chain(t *genTable) string {
	if len(t.chains) == 0 || g.in(25) {
		return g.one("nochain", "inptu-chain", "x")
	}
	return t.chains[g.n(len(t.chains))]
}

// step makes one run of nft.
func (g *gen) step() step {
	switch g.n(11) {
	case 0, 1:
		return g.listing()
	case 10:
		return step{Args: g.options("-f", "-"), Stdin: g.intervals()}
	case 2, 3, 4:
		var b strings.Builder
		for range 1 + g.n(6) {
			b.WriteString(g.damaged(g.command()) + "\n")
		}
		return step{Args: g.options("-f", "-"), Stdin: b.String()}
	case 5:
		return step{Args: g.options("-f", "-"), Stdin: g.damaged(g.block())}
	}
	return step{Args: g.options(strings.Fields(g.damaged(g.command()))...)}
}

// options puts some options before the arguments of a step that changes something.
func (g *gen) options(args ...string) []string {
	switch g.n(25) {
	case 0:
		return append([]string{g.ask("option", "-c")}, args...)
	case 1:
		return append([]string{g.ask("option", "-e")}, args...)
	case 2:
		return append([]string{g.ask("option", "-a"), g.ask("option", "-e")}, args...)
	}
	return args
}

// listing makes a step that lists something.
func (g *gen) listing() step {
	var args []string
	for range g.n(3) {
		args = append(args, g.ask("option", g.one("-a", "-n", "-nn", "-s", "-t", "-T", "-y", "-S", "-j", "-p", "-u")))
	}
	t := g.table()
	of := t.family + " " + t.name
	what := g.one("ruleset", "ruleset", "table "+of, "table "+of, "tables", "chains", "sets", "maps", "counters", "quotas", "limits",
		"chain "+of+" "+g.chain(t), "set "+of+" "+g.setName(t), "map "+of+" "+g.setName(t), "ruleset "+t.family, "chains "+t.family,
		"counter "+of+" "+g.object(t, "counter"), "quota "+of+" "+g.object(t, "quota"), "limit "+of+" "+g.object(t, "limit"))
	g.ask("command", "list "+strings.Fields(what)[0])
	return step{Args: append(args, strings.Fields("list "+what)...)}
}

func (g *gen) setName(t *genTable) string {
	if len(t.sets) == 0 || g.in(20) {
		return g.one("noset", "s")
	}
	return t.sets[g.n(len(t.sets))].name
}

func (g *gen) object(t *genTable, kind string) string {
	if names := t.objects[kind]; len(names) > 0 && !g.in(15) {
		return names[g.n(len(names))]
	}
	return "no" + kind
}

// damaged breaks one text in fifteen: a word less, a word twice, another word or letter, words of recorded lines.
func (g *gen) damaged(text string) string {
	if !g.in(15) {
		return text
	}
	if g.in(2) {
		return g.damagedLine(text, false)
	}
	words := strings.Split(text, " ")
	i := g.n(len(words))
	switch g.n(6) {
	case 0:
		words = slices.Delete(words, i, i+1)
	case 1:
		words = slices.Insert(words, i, words[i])
	case 2:
		words[i] = g.one("{", "}", ";", ",", "foo", "80", "!=", "@x", ".", "-", "accept", "$v", "\"x\"", "*", ":", "ip", "0x", "set")
	case 3:
		k := g.n(len(words))
		words[i], words[k] = words[k], words[i]
	case 4:
		if w := []byte(words[i]); len(w) > 0 {
			w[g.n(len(w))] = "abz019.:/-{}\"@$&|;"[g.n(18)]
			words[i] = string(w)
		}
	default:
		words = words[:i]
	}
	g.ask("damage", "of a command that was made")
	return strings.Join(words, " ")
}
