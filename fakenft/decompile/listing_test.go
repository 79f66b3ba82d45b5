package decompile_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/fakenft/check"
	"github.com/chainwalk/chainwalk/fakenft/compile"
	"github.com/chainwalk/chainwalk/fakenft/decompile"
	"github.com/chainwalk/chainwalk/fakenft/parse"
	"github.com/chainwalk/chainwalk/fakenft/print"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

var rewrite = flag.Bool("rewrite", false, "let the kernel tests write what the real nft lists into testdata")

// ruleset is a ruleset with a rule of a line "FAMILY TYPE HOOK: RULE"; false for other lines.
func ruleset(line string) (text string, isRule bool) {
	where, rule, isRule := strings.Cut(strings.TrimSpace(line), ": ")
	words := strings.Fields(where)
	if !isRule || len(words) != 3 {
		return "", false
	}
	address := "ipv4_addr"
	if words[0] == "ip6" {
		address = "ipv6_addr"
	}
	return fmt.Sprintf(`table %s t {
	counter cn { }
	map vm { type %[2]s . inet_proto . inet_service : verdict; }
	map mm { type inet_service : %[2]s . inet_service; }
	map om { type %[2]s : counter; }
	map am { type %[2]s : %[2]s; }
	set s { type %[2]s; size 100; flags dynamic,timeout; }
	set cidr { type %[2]s; flags interval; }
	set hp { type %[2]s . %[2]s . inet_proto . inet_service; }
	chain d { }
	chain c { type %[3]s hook %[4]s priority 0; %[5]s; }
}`, words[0], address, words[1], words[2], rule), true
}

// rulesOf are the lines of the chain c of a listing, without indent.
func rulesOf(listing string) (lines []string) {
	_, chain, _ := strings.Cut(listing, "\tchain c {\n")
	for line := range strings.Lines(chain) {
		if line == "\t}\n" {
			break
		}
		if !strings.HasPrefix(line, "\t\ttype ") {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return lines
}

// list is what chainwalk lists of a ruleset that it has carried out itself.
func list(t *testing.T, text string) (string, error) {
	t.Helper()
	commands, mistakes := parse.Text(&syntax.Input{Name: "/dev/stdin", Text: text}, parse.Options{})
	if len(mistakes) > 0 {
		return "", mistakes[0]
	}
	if mistakes := check.New(check.Empty{}).Commands(commands); len(mistakes) > 0 {
		return "", mistakes[0]
	}
	var all []nftables.Change
	for _, c := range commands {
		changes, err := compile.Command(c)
		if err != nil {
			return "", err
		}
		all = append(all, changes...)
	}
	var turn uint64
	kernel := nftables.New(clock.RealClock{}, func() uint64 { turn++; return turn })
	if refusals := kernel.Commit(all); len(refusals) > 0 {
		return "", refusals[0].Errno
	}
	var decls []*syntax.TableDecl
	for _, table := range kernel.State().Tables() {
		decls = append(decls, decompile.Table(table, time.Now()))
	}
	b, err := print.AppendRuleset(nil, decls, &print.Options{Device: device})
	require.NoError(t, err)
	return string(b), nil
}

func device(index uint32) (string, bool) { return "lo", index == 1 }

// TestListings compares what chainwalk lists of rules that it has carried out with what the real nft lists of them, as the kernel test has
// written it down: a rule, and below it what is listed.
func TestListings(t *testing.T) {
	files, err := filepath.Glob("testdata/listed-*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { listings(t, file) })
	}
}

func listings(t *testing.T, file string) {
	f, err := os.Open(file)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	var rule string
	var want []string
	compare := func() {
		if rule == "" {
			return
		}
		text, _ := ruleset(rule)
		have, err := list(t, text)
		if assert.NoError(t, err, rule) {
			assert.Equal(t, want, rulesOf(have), rule)
		}
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "\t") {
			want = append(want, line)
			continue
		}
		compare()
		rule, want = line, nil
	}
	require.NoError(t, lines.Err())
	compare()
}
