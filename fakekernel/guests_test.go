package fakekernel_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/chainwalk/chainwalk/fakeipt/toolstate"
	"github.com/chainwalk/chainwalk/fakenft/nftstate"
	"github.com/chainwalk/chainwalk/internal/kerneltest"
	_ "github.com/chainwalk/chainwalk/internal/ram"
	"github.com/chainwalk/chainwalk/netfilter"
)

// saved is when something was saved.
var saved = regexp.MustCompile(`(?m) on \w+ \w+ +\d+ [0-9:]+ \d+$`)

// runner runs a program, and says what it printed on both outputs and its status.
type runner func(argv []string) (out, errors string, status int)

// TestGuests holds what nft shows of the tables of iptables-nft, and what it does to them, against what the real tools have said, which
// TestGuestsKernel writes down with -rewrite.
func TestGuests(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/guests", func(t *testing.T, path string) {
		runGuests(t, path, toolsOf)
	})
}

// TestGuestsInAFolder holds that tools which find the tables of the one before them in a folder answer in the same words.
func TestGuestsInAFolder(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/guests", func(t *testing.T, path string) {
		runGuests(t, path, func() runner {
			iptables := toolstate.New(t.TempDir(), netfilter.NFT, nil)
			nft := &nftstate.Store{Dir: iptables.Dir(), Join: iptables.Join}
			return func(argv []string) (string, string, int) {
				var out, errors bytes.Buffer
				run := iptables.Run
				if nftstate.IsTool(argv[0]) {
					run = nft.Run
				}
				status := run(argv, nil, &out, &errors)
				return out.String(), errors.String(), status
			}
		})
	})
}

// TestGuestsKernel asks the real tools the same.
func TestGuestsKernel(t *testing.T) {
	kerneltest.Need(t, "iptables-nft", "ip6tables-nft", "nft", "ipset", "nfacct")
	datadriven.Walk(t, "testdata/guests", func(t *testing.T, path string) {
		runGuests(t, path, func() runner {
			n := kerneltest.New(t)
			return func(argv []string) (string, string, int) {
				result := n.Run(argv, "")
				return result.Stdout, result.Stderr, result.Status
			}
		})
	})
}

// runGuests runs the commands of a file: those behind "reset" on another kernel.
func runGuests(t *testing.T, path string, fresh func() runner) {
	t.Helper()
	run := fresh()
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		t.Helper()
		if d.Cmd == "reset" {
			run = fresh()
			return ""
		}
		var answer strings.Builder
		for line := range strings.Lines(d.Input) {
			out, errors, status := run(argsOf(strings.TrimSpace(line)))
			if out == "" && errors == "" && status == 0 {
				continue
			}
			fmt.Fprintf(&answer, "$ %s\n%s%s", strings.TrimSpace(line), unfolded.Replace(saved.ReplaceAllString(out, " on DATE")), errors)
			if status != 0 {
				fmt.Fprintf(&answer, "status %d\n", status)
			}
		}
		return answer.String()
	})
}

// argsOf are the words of a line as a shell has them, which knows no more than quotes.
func argsOf(line string) []string {
	var args []string
	var word strings.Builder
	quote, inside := rune(0), false
	for _, c := range line {
		switch {
		case quote == 0 && (c == '"' || c == '\''):
			quote, inside = c, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && c == ' ':
			if inside {
				args = append(args, word.String())
			}
			word.Reset()
			inside = false
		default:
			word.WriteRune(c)
			inside = true
		}
	}
	if inside {
		args = append(args, word.String())
	}
	return args
}

// unfolded puts a dot on empty lines, which would end an answer, and what JSON lists on lines of their own.
var unfolded = strings.NewReplacer("\n\n", "\n.\n", "}}, {", "}},\n{")
