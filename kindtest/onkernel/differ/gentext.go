package differ

import (
	"math/rand/v2"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// textGen makes tool runs, whole and damaged.
type textGen struct {
	*gen
	dialect netfilter.Dialect
	ipset   bool           // the fake has it
	help    *setHelp       // what the real ipset says of itself
	dropped map[string]int // reason to the number of runs that are not made
	// sessions counts the wide ones: labels of timers are the whole machine's.
	sessions int
	// swept counts the options that sweeps have had.
	swept int
}

// newTextGen draws from a stream of its own, apart from the walk differential of the same seed.
func newTextGen(seed uint64, d netfilter.Dialect, f netfilter.Family) *textGen {
	const stream = 0x7e87
	g := &gen{r: rand.New(rand.NewPCG(seed, stream<<16|uint64(f)<<8|streamOf(d))), w: worlds[f]}
	ipset := runFake(newFakeRunner(d, nil).kernel, []string{"ipset", "list"}, "").Status == 0
	return &textGen{gen: g, dialect: d, ipset: ipset, dropped: map[string]int{}}
}

// session makes the runs of one namespace. Each change is followed by a look at the ruleset.
func (g *textGen) session() []textStep {
	g.serial = 0
	switch n := g.r.IntN(100); {
	case n < 8 && g.ipset:
		return g.setSession()
	case n < 12:
		return g.nfacctSession()
	}
	var steps []textStep
	steps = append(steps, textStep{Argv: []string{"nfacct", "add", "cw-one"}})
	if g.ipset {
		steps = append(steps, textStep{Argv: []string{"ipset", "restore"}, Stdin: g.w.sets()})
	}
	for range 2 + g.r.IntN(5) {
		s := g.step()
		if reason := harmful(&s); reason != "" {
			g.dropped[reason]++
			continue
		}
		steps = append(steps, s)
		if !strings.Contains(s.Argv[0], "save") && !strings.HasPrefix(s.Argv[0], "nfacct") && !strings.HasPrefix(s.Argv[0], "ipset") {
			steps = append(steps, textStep{Argv: []string{g.name("iptables-save"), "-c"}})
		}
	}
	return steps
}

func (g *textGen) name(of string) string { return tool(of, g.dialect, g.w.family) }

func (g *textGen) step() textStep {
	switch n := g.r.IntN(100); {
	case n < 47:
		return g.restore()
	case n < 82:
		return g.command()
	case n < 88:
		return g.nfacct()
	case n < 96 && g.ipset:
		return (&setsGen{g, map[string]*genSet{}}).step()
	default:
		return textStep{Argv: append([]string{g.name("iptables-save")}, strings.Fields(g.oneOf("", "-c", "-t nat", "-t filter -c", "-c -t mangle",
			"-t nope", "--table raw", "--counters", "-V", "-f /dev/null", "-c -f /no/folder/x", "--file /dev/null -t nat", "-M", "-x", "word",
			"-t"))...)}
	}
}
