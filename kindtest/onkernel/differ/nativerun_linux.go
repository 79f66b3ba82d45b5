package differ

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// refusedLine is where nft found something wrong.
var refusedLine = regexp.MustCompile(`/dev/stdin:(\d+):`)

// mostRefusals is how often nft is asked about one text, of which each time it loses what was refused.
const mostRefusals = 200

// nativeRun compares native tables of one family: the real tool loads them, and the walk has the kernel's own bytecode. With bounds.Mixed
// rules of the legacy tools stand beside them.
type nativeRun struct {
	bounds  runBounds
	lab     *lab
	gen     *gen
	numbers *walkNumbers
	log     io.Writer
}

// runNatives compares random tables of nft and packets until a bound is reached: traces, packets, connections, counters and elements.
func runNatives(b runBounds, f netfilter.Family, l *lab, log io.Writer) (*walkNumbers, error) {
	start := time.Now()
	stream := uint64(f)
	if b.Mixed { // its tables are kept while they are empty, and NAT with them
		stream |= 1 << 8
		if _, err := l.node.Output([]string{tool("iptables-restore", netfilter.Legacy, f)}, emptyRules); err != nil {
			return nil, err
		}
	}
	r := &nativeRun{
		bounds: b, lab: l, log: log, gen: &gen{r: rand.New(rand.NewPCG(b.Seed, stream)), w: worlds[f]},
		numbers: &walkNumbers{
			Dialect: netfilter.NFT, Native: true, Mixed: b.Mixed, Family: int(f), Seed: b.Seed, Ended: map[string]int{}, Coverage: coverage{},
		},
	}
	for r.numbers.Rulesets < b.Rulesets && len(r.numbers.Disagreements) < b.Most {
		if err := r.one(); err != nil {
			return r.numbers, err
		}
	}
	r.numbers.Seconds = time.Since(start).Seconds()
	return r.numbers, nil
}

// one makes a case and judges it.
func (r *nativeRun) one() error {
	text, err := r.accepted(r.gen.nativeRuleset())
	if err != nil {
		return err
	}
	c := &walkCase{Dialect: netfilter.NFT, Family: int(r.gen.w.family), NFT: text, Sends: unlooped(r.gen.traffic(r.bounds.Packets), r.gen.w)}
	if r.bounds.Mixed {
		for ok := false; !ok; ok = !r.gen.usesAccounts && !r.gen.usesSets {
			c.OtherRules = besideOthers(r.gen.ruleset())
		}
	}
	real := &labKernel{lab: r.lab}
	v, err := judge(c, real)
	if err != nil {
		return stopped(&r.bounds, c, r.numbers.Rulesets+1, err)
	}
	r.numbers.add(v, c)
	r.numbers.Coverage.addNative(v.Native, v.Answer)
	if v.Disagreement == "" {
		return nil
	}
	small, last := shrink(c, v, func(c *walkCase) (*verdict, error) { return judge(c, real) })
	n := len(r.numbers.Disagreements) + 1
	small.Title = strings.SplitN(last.Disagreement, "\n", 2)[0]
	name := fmt.Sprintf("native-%d-%d-%d.yaml", small.Family, r.bounds.Seed, n)
	if r.bounds.Mixed {
		name = "mixed-" + name
	}
	path, err := writeFile(r.bounds.Folder, name, small)
	if err != nil {
		return err
	}
	r.numbers.Disagreements = append(r.numbers.Disagreements, disagreement{What: small.Title, File: path})
	fmt.Fprintf(r.log, "DISAGREEMENT %d (nft's tables, IPv%d, seed %d, ruleset %d), case in %s\n%s%s%s\n%s\n", n, small.Family, r.bounds.Seed,
		r.numbers.Rulesets, path, nativeInBrief(small.NFT), rulesInBrief(small.OtherRules), sendsInBrief(small.Sends), last.Disagreement)
	return nil
}

// accepted is the text without the rules that nft or the kernel refuse. It is loaded, since "nft -c" takes loops
// and jumps that are too deep.
func (r *nativeRun) accepted(text string) (string, error) {
	if _, err := r.lab.node.Output([]string{"nft", "flush", "ruleset"}, ""); err != nil {
		return "", err
	}
	for range mostRefusals {
		run, err := runIn(r.lab.node, []string{"nft", "-f", "-"}, text)
		if err != nil || run.Status == 0 {
			return text, err
		}
		lines := strings.SplitAfter(text, "\n")
		wrong := refusedRules(lines, run.Stderr)
		if len(wrong) == 0 {
			return "", fmt.Errorf("nft does not say which rule is wrong: %s", run.Stderr)
		}
		if strings.Contains(run.Stderr, "Too many links") { // it is said of all rules behind the first as well
			wrong = wrong[:1]
		}
		for _, n := range slices.Backward(wrong) {
			lines = slices.Delete(lines, n, n+1)
			r.numbers.RefusedRules++
		}
		text = strings.Join(lines, "")
	}
	return "", errors.New("nft refuses more and more")
}

// refusedRules are the places of the rules that nft complains about. Other lines are refused because of a rule, and those that trace stay.
func refusedRules(lines []string, stderr string) []int {
	var wrong []int
	for _, m := range refusedLine.FindAllStringSubmatch(stderr, -1) {
		n, _ := strconv.Atoi(m[1])
		if n--; strings.HasPrefix(lines[n], nativeRule) && !strings.HasSuffix(lines[n], "nftrace set 1\n") {
			wrong = append(wrong, n)
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

// unlooped are sends without packets of the node to many: when the node's own copy of one comes in, among the lines of the other copy,
// depends on the kind of table that it left last.
func unlooped(sends []send, w *world) []send {
	for i := range sends {
		s := &sends[i]
		if s.From != nodePlace {
			continue
		}
		if in, err := inet.ParseInput(s.Packet); err == nil && slices.Contains(w.many, in.Dst) {
			from, to := netip.AddrPortFrom(w.node[0], 40001), netip.AddrPortFrom(w.servers[0], 1000)
			s.Packet, s.Chunk, s.Quotes = fmt.Sprintf("udp %s > %s", from, to), "", ""
		}
	}
	return sends
}

// nativeInBrief are the rules with their chains, and the sets that they name.
func nativeInBrief(text string) string {
	lines := strings.SplitAfter(text, "\n")
	rules := ""
	for _, l := range lines {
		if strings.HasPrefix(l, nativeRule) {
			rules += l
		}
	}
	var b strings.Builder
	for i, l := range lines {
		words := strings.Fields(l)
		switch {
		case len(words) == 0 || l == "\t}\n" || l == "}\n":
		case strings.HasPrefix(l, nativeRule):
			b.WriteString(l)
		case words[0] == "set" || words[0] == "map" || words[0] == "counter" || words[0] == "quota" || words[0] == "limit":
			if strings.Contains(rules, "@"+words[1]) || strings.Contains(rules, `"`+words[1]+`"`) {
				b.WriteString(l)
			}
		case words[0] == "chain" && lines[i+1] == "\t}\n":
		default:
			b.WriteString(l)
		}
	}
	return b.String()
}
