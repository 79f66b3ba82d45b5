package differ

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/netfilter"
)

// runBounds end a run by whichever comes first.
type runBounds struct {
	Seed     uint64
	Rulesets int
	Packets  int // of a ruleset
	Time     time.Duration
	// Folder gets the cases of disagreements.
	Folder string
	// Calls is the number of tool runs of a text differential; 0: as many as the time allows.
	Calls int
	// Tool is ipset or nfacct for a text differential of that tool alone.
	Tool string
	// Most is the number of disagreements after which a run gives up.
	Most int
	// ChanceCases is the number of cases with many draws each.
	ChanceCases int
	// Mixed gives every case rules of the other dialect beside its own.
	Mixed bool
	// Favoured are names of pieces of rules that are drawn more often than others.
	Favoured []string
}

// walkRun is a walk differential of one dialect and family.
type walkRun struct {
	bounds  runBounds
	dialect netfilter.Dialect
	real    kernel
	gen     *gen
	numbers *walkNumbers
	draws   []draw
	log     io.Writer
}

// runWalks compares rulesets until a bound is reached.
func runWalks(b runBounds, d netfilter.Dialect, f netfilter.Family, real kernel, log io.Writer) (*walkNumbers, error) {
	start := time.Now()
	r := &walkRun{
		bounds: b, dialect: d, real: real, log: log,
		gen:     &gen{r: rand.New(rand.NewPCG(b.Seed, uint64(f)<<8|streamOf(d))), w: worlds[f], favoured: b.Favoured},
		numbers: &walkNumbers{Dialect: d, Mixed: b.Mixed, Family: int(f), Seed: b.Seed, Ended: map[string]int{}, Coverage: coverage{}},
	}
	r.numbers.LeftOut = r.gen.probe(d)
	for range b.ChanceCases {
		if err := r.compare(r.gen.chanceCase(d)); err != nil {
			return r.numbers, err
		}
	}
	for r.numbers.Rulesets < b.Rulesets && time.Since(start) < b.Time && len(r.numbers.Disagreements) < b.Most {
		if err := r.one(); err != nil {
			return r.numbers, err
		}
	}
	r.numbers.Fit = fitDraws(r.draws)
	r.numbers.Seconds = time.Since(start).Seconds()
	return r.numbers, nil
}

// one makes a case and judges it.
func (r *walkRun) one() error {
	c := &walkCase{Dialect: r.dialect, Family: int(r.gen.w.family)}
	otherAccounts, otherSets := false, false
	if r.bounds.Mixed {
		c.OtherRules = besideOthers(r.gen.ruleset())
		otherAccounts, otherSets = r.gen.usesAccounts, r.gen.usesSets
	}
	c.Rules = r.gen.ruleset()
	c.Sends = r.gen.traffic(r.bounds.Packets)
	if r.gen.usesAccounts || otherAccounts {
		c.NFAcct = accounts
	}
	if r.gen.usesSets || otherSets {
		c.Sets = r.gen.w.sets()
	}
	return r.compare(c)
}

// besideOthers are rules without those that trace, and without chance: how it fell does not show in the trace of the others.
func besideOthers(rules string) string {
	var b strings.Builder
	for line := range strings.Lines(rules) {
		if !strings.HasSuffix(line, "-j TRACE\n") && !strings.Contains(line, "--mode random") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// compare judges a case and counts it.
func (r *walkRun) compare(c *walkCase) error {
	v, err := judge(c, r.real)
	if err != nil {
		return stopped(&r.bounds, c, r.numbers.Rulesets+1, err)
	}
	r.numbers.add(v, c)
	r.draws = append(r.draws, v.Draws...)
	if v.Disagreement == "" {
		return nil
	}
	return r.report(c, v)
}

// stopped is the error of a case that could not be judged. The case is written down, to be replayed (-replay).
func stopped(b *runBounds, c *walkCase, ruleset int, err error) error {
	name := fmt.Sprintf("walk-stopped-%s-%d-%d-%d.yaml", c.Dialect, c.Family, b.Seed, ruleset)
	if c.NFT != "" {
		name = fmt.Sprintf("native-stopped-%d-%d-%d.yaml", c.Family, b.Seed, ruleset)
	}
	path, failed := writeFile(b.Folder, name, c)
	if failed != nil {
		return errors.Join(err, failed)
	}
	return fmt.Errorf("ruleset %d, case in %s: %w", ruleset, path, err)
}

// report shrinks a case that does not agree and writes it down.
func (r *walkRun) report(c *walkCase, v *verdict) error {
	small, last := shrink(c, v, func(c *walkCase) (*verdict, error) { return judge(c, r.real) })
	n := len(r.numbers.Disagreements) + 1
	small.Title = strings.SplitN(last.Disagreement, "\n", 2)[0]
	small.Kernel = last.Answer
	if n := len(last.Answer.Sends); n < len(small.Sends) { // what comes after the disagreement is not known
		small.Sends = small.Sends[:n]
	}
	name := fmt.Sprintf("walk-%s-%d-%d-%d.yaml", small.Dialect, small.Family, r.bounds.Seed, n)
	path, err := writeFile(r.bounds.Folder, name, small)
	if err != nil {
		return err
	}
	r.numbers.Disagreements = append(r.numbers.Disagreements, disagreement{What: small.Title, File: path})
	fmt.Fprintf(r.log, "DISAGREEMENT %d (%s, IPv%d, seed %d, ruleset %d), case in %s\n%s%s\n%s\n", n, small.Dialect, small.Family,
		r.bounds.Seed, r.numbers.Rulesets, path, rulesInBrief(small.Rules), sendsInBrief(small.Sends), last.Disagreement)
	return nil
}

// rulesInBrief leaves out what every ruleset has.
func rulesInBrief(rules string) string {
	var b strings.Builder
	for line := range strings.Lines(rules) {
		if strings.HasPrefix(line, ":") && strings.HasSuffix(line, " ACCEPT [0:0]\n") || line == "COMMIT\n" {
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

func sendsInBrief(sends []send) string {
	var b strings.Builder
	for i, s := range sends {
		fmt.Fprintf(&b, "%d. %+v\n", i+1, s)
	}
	return b.String()
}
