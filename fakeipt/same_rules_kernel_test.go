//go:build linux

package fakeipt

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TestSameRulesOnTheRealKernel holds which rules -C and -D take for the same one, of every extension: rules of testdata/rules, and those
// made of them that differ in one option, stand in one chain, and each is looked for and deleted until it is not found any more. Which
// ones come from -rapid.seed, how many at once from -rapid.checks.
func TestSameRulesOnTheRealKernel(t *testing.T) {
	needKernel(t)
	datadriven.Walk(t, "testdata/rules", func(t *testing.T, path string) {
		t.Parallel() // as TestRulesOnTheRealKernel
		rng := rand.New(rand.NewPCG(uint64(flagNumber(t, "rapid.seed")), 1))
		pairs := map[netfilter.Dialect]*toolPair{}
		for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
			pairs[d] = &toolPair{real: newRealMachine(t), fake: newFakeMachine(d)}
		}
		c := readSameCorpus(t, path, pairs)
		for _, name := range sample.Part(t, c.names) {
			g := c.groups[name]
			rules := g.withVariants(c.values)
			rng.Shuffle(len(rules), func(i, k int) { rules[i], rules[k] = rules[k], rules[i] })
			for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
				s := &sameRules{ruleAt: g.ruleAt, t: t, dialect: d, toolPair: pairs[d]}
				s.compare(rules, max(flagNumber(t, "rapid.checks")/4, 3))
			}
		}
	})
}

func flagNumber(t *testing.T, name string) int {
	n, err := strconv.Atoi(flag.Lookup(name).Value.String())
	require.NoError(t, err, name)
	return n
}

// toolPair are the real tools and ours.
type toolPair struct{ real, fake machine }

// sameCorpus is a file of rules.
type sameCorpus struct {
	names  []string
	groups map[string]*sameGroup
	values map[string][][]string // of each option
}

// sameGroup are rules in one chain that have the same extensions.
type sameGroup struct {
	ruleAt
	rules [][]string
}

// readSameCorpus reads a file and runs what it has besides rules.
func readSameCorpus(t *testing.T, path string, pairs map[netfilter.Dialect]*toolPair) *sameCorpus {
	c := &sameCorpus{groups: map[string]*sameGroup{}, values: map[string][][]string{}}
	datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
		tool, ok := map[string]string{"rules": "iptables", "rules6": "ip6tables"}[td.Cmd]
		if !ok {
			for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
				runCase(t, pairs[d].real, d, td)
				runCase(t, pairs[d].fake, d, td)
			}
			return td.Expected
		}
		at := ruleAt{tool: tool, table: td.CmdArgs[0].Key, chain: td.CmdArgs[1].Key}
		for line := range strings.Lines(td.Input) {
			c.add(at, savedWords(t, line))
		}
		return td.Expected
	})
	return c
}

func (c *sameCorpus) add(at ruleAt, words []string) {
	name := fmt.Sprint(at)
	for i, w := range words[:max(len(words)-1, 0)] {
		if w == "-m" || w == "-j" {
			name += " " + w + " " + words[i+1]
		}
	}
	if c.groups[name] == nil {
		c.groups[name] = &sameGroup{ruleAt: at}
		c.names = append(c.names, name)
	}
	c.groups[name].rules = append(c.groups[name].rules, words)
	for _, o := range wordedOptions(words) {
		c.values[words[o.name]] = append(c.values[words[o.name]], words[o.name+1:o.end])
	}
}

// wordedOption is where an option stands in a rule: "!" or the option itself, the option, and what is behind its values.
type wordedOption struct{ begin, name, end int }

func wordedOptions(words []string) []wordedOption {
	var all []wordedOption
	for i, w := range words {
		if !strings.HasPrefix(w, "--") || len(w) == 2 {
			continue
		}
		o := wordedOption{begin: i, name: i, end: i + 1}
		if i > 0 && words[i-1] == "!" {
			o.begin--
		}
		for o.end < len(words) && words[o.end] != "!" && !strings.HasPrefix(words[o.end], "--") &&
			!slices.Contains([]string{"-m", "-j", "-g", "-p"}, words[o.end]) {
			o.end++
		}
		all = append(all, o)
	}
	return all
}

// withVariants are the rules, and those that differ from one of them in one option: it is left out, inverted, or has another value; and
// those that have a comment before all others, by which ip6tables -C compares more of the rest.
func (g *sameGroup) withVariants(values map[string][][]string) [][]string {
	var all [][]string
	seen := map[string]bool{}
	add := func(words []string) {
		if key := fmt.Sprintf("%q", words); !seen[key] {
			seen[key] = true
			all = append(all, words)
		}
	}
	for _, words := range g.rules {
		add(words)
		add(append([]string{"-m", "comment", "--comment", "a comment"}, words...))
		for _, o := range wordedOptions(words) {
			add(slices.Delete(slices.Clone(words), o.begin, o.end))
			if o.begin < o.name {
				add(slices.Delete(slices.Clone(words), o.begin, o.name))
			} else {
				add(slices.Insert(slices.Clone(words), o.name, "!"))
			}
			for _, v := range values[words[o.name]] {
				add(slices.Replace(slices.Clone(words), o.name+1, o.end, v...))
			}
		}
	}
	return all
}

// sameRules compares what the tools of one dialect take for the same rule.
type sameRules struct {
	ruleAt
	t       *testing.T
	dialect netfilter.Dialect
	*toolPair
}

func (s *sameRules) on(m machine, args ...string) (string, int) {
	stdout, stderr, status := m.run(s.t, append([]string{withDialect(s.tool, s.dialect), "-t", s.table}, args...), "")
	return result(stdout, stderr, status), status
}

// both runs both tools, which must say the same.
func (s *sameRules) both(args ...string) (said string, status int) {
	real, status := s.on(s.real, args...)
	ours, _ := s.on(s.fake, args...)
	assert.Equal(s.t, real, ours, "%s %v -t %s %q", s.tool, s.dialect, s.table, args)
	return real, status
}

// compare puts some of the rules into the chain and takes them out again.
func (s *sameRules) compare(rules [][]string, most int) {
	var there [][]string
	for _, words := range rules {
		if len(there) == most {
			break
		}
		// The counters tell rules apart that are listed alike.
		args := append([]string{"-A", s.chain, "-c", strconv.Itoa(len(there) + 1), "0"}, words...)
		if _, status := s.on(s.fake, args...); status != 0 {
			continue
		}
		if refused, status := s.on(s.real, args...); status != 0 {
			// Some kernels refuse a name in use by a table with the other kind of rate.
			sharedName := slices.Contains(words, "hashlimit") && strings.Contains(refused, "Invalid argument")
			assert.True(s.t, sharedName, "the real tool refuses a rule: %s %v %q: %s", s.tool, s.dialect, args, refused)
			s.on(s.fake, "-D", s.chain, strconv.Itoa(len(there)+1))
			continue
		}
		there = append(there, words)
	}
	for _, words := range there {
		for range there {
			if !s.takeOut(words, there) {
				break
			}
		}
	}
	s.both("-F", s.chain)
}

// takeOut deletes a rule that is the same as the words, if there is one. Where the tools do not agree, the chain is emptied.
func (s *sameRules) takeOut(words []string, there [][]string) bool {
	check, args := append([]string{"-C", s.chain}, words...), append([]string{"-D", s.chain}, words...)
	real, checked := s.on(s.real, check...)
	ours, oursChecked := s.on(s.fake, check...)
	_, deleted := s.both(args...)
	// There the tool looks at memory behind its mask, and may find a difference.
	behindMask := s.masked() && checked != 0 && oursChecked == 0 && deleted != 0
	if !behindMask {
		assert.Equal(s.t, real, ours, "%s %v -t %s %q", s.tool, s.dialect, s.table, check)
	}
	s.both("-S", s.chain, "-v")
	if s.t.Failed() {
		for _, m := range []machine{s.real, s.fake} {
			s.on(m, "-F", s.chain)
		}
		s.t.Fatalf("of %q", there)
	}
	return deleted == 0
}

// masked says that -C compares with the mask that check_ipv6.go tells of.
func (s *sameRules) masked() bool { return s.tool == "ip6tables" && s.dialect == netfilter.Legacy }
