package differ

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/internal/namespace"
	"github.com/chainwalk/chainwalk/kindtest/onkernel/nftdiffer"
	"github.com/chainwalk/chainwalk/netfilter"
)

// toolSessions is how many sessions of all tools one of a single tool is made for: it has more calls.
const toolSessions = 4

// differential is one of a search: its bounds for one dialect and family, and how it is made.
type differential struct {
	bounds runBounds
	walks  bool
}

// differentials are the comparisons of a search, in order, with their parts of the time for a dialect and a family. Sessions of ipset have
// a fifth as many calls as those of all tools, sessions of nfacct, which has few commands, a fifteenth.
func (s *Search) differentials() []differential {
	bounds := func(part, rulesets, calls int) runBounds {
		return runBounds{
			Seed: s.Seed, Rulesets: rulesets, Packets: s.Packets, Time: s.Time / time.Duration(part), Folder: s.Folder, Most: s.Most,
			Calls: (calls + runsOfEach - 1) / runsOfEach, ChanceCases: s.ChanceCases, Favoured: s.Favoured,
		}
	}
	sessions := (s.Rulesets + toolSessions - 1) / toolSessions
	texts, sets, accounts := bounds(12, s.Rulesets, s.Calls), bounds(48, sessions, (s.Calls+4)/5), bounds(96, sessions, (s.Calls+14)/15)
	sets.Tool, accounts.Tool = "ipset", "nfacct"
	mixed := bounds(12, s.Rulesets, 0)
	mixed.Mixed, mixed.ChanceCases = true, 0
	return []differential{{sets, false}, {mixed, true}, {accounts, false}, {texts, false}, {bounds(6, s.Rulesets, 0), true}}
}

// runsOfEach is the number of runs of a differential: each dialect and family has one.
const runsOfEach = 4

// compare makes all differentials, and adds their numbers. The kernel's draws fit their probabilities in all of them.
func (s *Search) compare(ctx context.Context, sum *summary, out io.Writer) (fits bool, err error) {
	if lacks := namespace.Lacks(tools()...); len(lacks) > 0 {
		return false, fmt.Errorf("this machine is not ready: %s", strings.Join(lacks, "; "))
	}
	use, err := thisMachine().begin()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, use.end()) }()
	if err := s.compareNFT(ctx, sum, out); err != nil {
		return false, err
	}
	fits = true
	for _, one := range s.differentials() {
		if s.Rulesets == 0 {
			break
		}
		for _, d := range netfilter.Dialects() {
			fit, err := one.run(ctx, sum, d, out, s.Verbose)
			if err != nil {
				return false, err
			}
			fits = fits && fit
		}
	}
	return fits, nil
}

// nativePackets is how many packets a ruleset of nft gets: those that the walk cannot follow end a case early.
const nativePackets = 16

// compareNFT makes the differentials of nft: sessions of the tool, and walks through its tables.
func (s *Search) compareNFT(ctx context.Context, sum *summary, out io.Writer) error {
	if s.Sessions > 0 {
		n, err := nftdiffer.Search(ctx, nftdiffer.Bounds{Seed: s.Seed, Sessions: s.Sessions, Most: s.Most, Folder: s.Folder}, out)
		if err != nil {
			return err
		}
		sum.numbers = append(sum.numbers, numbersLine{NFT: n})
	}
	if s.NativeRulesets == 0 {
		return nil
	}
	l, err := newLab(netfilter.NFT)
	if err != nil {
		return err
	}
	defer l.close()
	for _, mixed := range []bool{false, true} { // once the legacy tools were run their hooks stay
		for _, f := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			b := runBounds{Seed: s.Seed, Rulesets: s.NativeRulesets, Packets: nativePackets, Folder: s.Folder, Most: s.Most, Mixed: mixed}
			if mixed {
				b.Rulesets = (s.NativeRulesets + 1) / 2
			}
			numbers, err := runNatives(b, f, l, out)
			if err != nil {
				return fmt.Errorf("walks through nft's tables of IPv%d: %w", f, err)
			}
			if s.Verbose {
				numbers.print(out)
			}
			sum.numbers = append(sum.numbers, numbersLine{Walk: numbers})
		}
	}
	return nil
}

// tools are the programs that the differentials run.
func tools() []string {
	names := []string{"nfacct", "ipset", "conntrack", "nft"}
	for _, d := range netfilter.Dialects() {
		for _, f := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
			names = append(names, tool("iptables", d, f), tool("iptables-restore", d, f), tool("iptables-save", d, f))
		}
	}
	return names
}

// run makes a differential of one dialect, for both families. Walks are in one lab.
func (o *differential) run(ctx context.Context, sum *summary, d netfilter.Dialect, out io.Writer, verbose bool) (fits bool, err error) {
	var l *lab
	if o.walks {
		if l, err = newLab(d); err != nil {
			return false, err
		}
		defer l.close()
	}
	fits = true
	for _, f := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if !o.walks {
			numbers, err := runTexts(o.bounds, d, f, freshRunner, out)
			if err != nil {
				return false, fmt.Errorf("tools of %s IPv%d: %w", d, f, err)
			}
			if verbose {
				numbers.print(out)
			}
			sum.numbers = append(sum.numbers, numbersLine{Text: numbers})
			continue
		}
		numbers, err := runWalks(o.bounds, d, f, &labKernel{lab: l}, out)
		if err != nil {
			return false, fmt.Errorf("walks of %s IPv%d: %w", d, f, err)
		}
		if verbose {
			numbers.print(out)
		}
		sum.numbers = append(sum.numbers, numbersLine{Walk: numbers})
		fits = fits && (o.bounds.ChanceCases == 0 || numbers.Fit.P > falseAlarm)
	}
	return fits, nil
}
