//go:build linux

package differ

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// refusedLine is where nft found something wrong.
var refusals = flag.Bool("refusals", false, "print what nft refuses of the rules that are made")

var refusedLine = regexp.MustCompile(`/dev/stdin:(\d+):`)

// mostWrong is how many disagreements of a family are looked at.
const mostWrong = 4

// accepted is the text without the rules that nft or the kernel refuse.
func accepted(t *testing.T, l *lab, text string) string {
	_, err := l.node.Output([]string{"nft", "flush", "ruleset"}, "")
	require.NoError(t, err)
	for range 40 {
		run, err := runIn(l.node, []string{"nft", "-c", "-f", "-"}, text)
		require.NoError(t, err)
		if run.Status == 0 {
			return text
		}
		lines := strings.SplitAfter(text, "\n")
		var wrong []int
		for _, m := range refusedLine.FindAllStringSubmatch(run.Stderr, -1) {
			n, _ := strconv.Atoi(m[1])
			wrong = append(wrong, n-1)
		}
		slices.Sort(wrong)
		wrong = slices.Compact(wrong)
		if len(wrong) == 0 { // it does not say where
			return ""
		}
		for _, n := range slices.Backward(wrong) {
			if !strings.HasPrefix(lines[n], nativeRule) || strings.HasSuffix(lines[n], "nftrace set 1\n") {
				continue // it is refused because of a rule
			}
			if *refusals {
				fmt.Print(run.Stderr)
			}
			lines = slices.Delete(lines, n, n+1)
		}
		text = strings.Join(lines, "")
	}
	require.Fail(t, "nft refuses more and more")
	return ""
}

// TestKernelWalksNative makes random tables of nft and packets, walks them through the kernel and through packetsim with the kernel's own
// bytecode, and compares traces, packets, connections, counters and elements.
func TestKernelWalksNative(t *testing.T) {
	needKernel(t)
	use, err := thisMachine().begin()
	require.NoError(t, err)
	defer func() { require.NoError(t, use.end()) }()
	l, err := newLab(netfilter.NFT)
	require.NoError(t, err)
	defer l.close()
	number := func(name string, usual int) int {
		n, err := strconv.Atoi(cmp.Or(os.Getenv(name), strconv.Itoa(usual)))
		require.NoError(t, err)
		return n
	}
	seed, rulesets := uint64(number("NATIVE_SEED", 1)), number("NATIVE_RULESETS", 40)
	// Beside them rules of the legacy tools, whose tables stay when they are empty, and NAT with them.
	mixed := os.Getenv("NATIVE_MIXED") != ""
	for _, f := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		if mixed {
			_, err := l.node.Output([]string{tool("iptables-restore", netfilter.Legacy, f)}, emptyRules)
			require.NoError(t, err)
		}
		g := &gen{r: rand.New(rand.NewPCG(seed, uint64(f))), w: worlds[f]}
		packets, steps, begun := 0, 0, time.Now()
		ended, covered := map[string]int{}, coverage{}
		for i, wrong := 0, 0; i < rulesets && wrong < mostWrong; i++ {
			c := &walkCase{Dialect: netfilter.NFT, Family: int(f), NFT: accepted(t, l, g.nativeRuleset()), Sends: unlooped(g.traffic(16), g.w)}
			if c.NFT == "" {
				continue
			}
			if mixed {
				for ok := false; !ok; ok = !g.usesAccounts && !g.usesSets {
					c.OtherRules = besideOthers(g.ruleset())
				}
			}
			v, err := judge(c, &labKernel{lab: l})
			require.NoError(t, err, c.NFT)
			packets, steps = packets+v.Packets, steps+v.Steps
			covered.addNative(v.Native, v.Answer)
			if v.Refused != "" {
				ended[v.Refused]++
			}
			if v.Disagreement != "" {
				wrong++
				small, last := shrink(c, v, func(c *walkCase) (*verdict, error) { return judge(c, &labKernel{lab: l}) })
				t.Errorf("IPv%d ruleset %d: %s\n%s%s\n%s", f, i, last.Disagreement, nativeInBrief(small.NFT), rulesInBrief(small.OtherRules),
					sendsInBrief(small.Sends))
			}
		}
		var reached strings.Builder
		covered.printNative(&reached)
		t.Logf("IPv%d: %d rulesets, %d packets, %d steps, %s; ended early: %v\n%s", f, rulesets, packets, steps, time.Since(begun), ended,
			reached.String())
	}
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
