// Command search compares chainwalk with this machine's kernel and tools on random input, from a seed, and prints what it compared. What
// disagrees is shrunk and written as a case. The status is 1 if something disagrees, or a test that it was told of has failed or was
// skipped. It needs root on Linux, iptables in both dialects, nft, ipset, nfacct and conntrack.
//
//	go test -json -run Kernel ./... | search -tests -seed 1 -rulesets 60
package main

import (
	"context"
	"flag"
	"io"
	"os"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/internal/command"
	"github.com/chainwalk/chainwalk/kindtest/onkernel/differ"
)

func main() { newCommand(os.Stdin).Main() }

func newCommand(in io.Reader) *command.Command {
	s := differ.Search{}
	favoured, tests := "", false
	return &command.Command{
		Name: "search",
		Flags: func(set *flag.FlagSet) {
			set.Uint64Var(&s.Seed, "seed", uint64(time.Now().UnixNano()), "begins what is drawn (default: the time)")
			set.DurationVar(&s.Time, "time", time.Minute, "of all differentials together")
			set.IntVar(&s.Rulesets, "rulesets", 100000, "of each dialect and family; as many sessions of tools; 0: iptables is not compared")
			set.IntVar(&s.Sessions, "sessions", 0, "of nft, however long they take")
			set.IntVar(&s.NativeRulesets, "natives", 0,
				"rulesets of nft of each family, and half as many beside legacy rules, however long they take")
			set.IntVar(&s.Packets, "packets", 10, "of a ruleset")
			set.IntVar(&s.Calls, "calls", 0, "of tools to compare, however long that takes; 0: as many as the time and -rulesets allow")
			set.IntVar(&s.ChanceCases, "chance", 4, "rulesets with many draws, of each dialect and family")
			set.IntVar(&s.Most, "most", 10, "disagreements after which a differential of one dialect and family gives up")
			set.StringVar(&favoured, "favour", "", "`PIECES` of rules that are drawn more often, such as TEE,SNPT,connlimit")
			set.StringVar(&s.Folder, "out", "bin/differ", "`FOLDER` for the cases of disagreements")
			set.BoolVar(&s.Verbose, "v", false, "print what each differential met and left out")
			set.BoolVar(&tests, "tests", false, `standard input has the events of "go test -json" to add up`)
		},
		Valid: func(args []string) bool { return len(args) == 0 },
		Look: func(ctx context.Context, _ []string, out io.Writer) (held bool, err error) {
			s.Favoured = strings.Split(favoured, ",")
			if tests {
				s.Tests = in
			}
			return s.Run(ctx, out)
		},
	}
}
