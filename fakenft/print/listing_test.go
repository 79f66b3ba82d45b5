package print_test

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/internal/sample"
)

// tool is an nft: ours, or the real one.
type tool interface {
	// fresh is an empty network namespace.
	fresh(t *testing.T)
	run(args []string, stdin string) (stdout, stderr string)
}

// TestListings lists what the real tool listed (testdata, which TestKernelListings writes with -rewrite).
func TestListings(t *testing.T) { listings(t, sample.InAll, &ours{}) }

func listings(t *testing.T, takes func(t testing.TB, i int) bool, nft tool) {
	files, err := filepath.Glob("testdata/*/*")
	require.NoError(t, err)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			family, rules := "", 0
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				switch d.Cmd {
				case "setup":
					nft.fresh(t)
					family = filepath.Base(file)
					_, stderr := nft.run([]string{"-f", "-"}, d.Input+"\n")
					return stderr
				case "rule":
					rules++
					if !takes(t, rules) {
						return d.Expected
					}
					base := ""
					d.ScanArgs(t, "at", &base)
					return rule(nft, family, base, d.Input)
				case "nft":
					return asked(nft, d.Input)
				}
				d.Fatalf(t, "unknown command %s", d.Cmd)
				return ""
			})
		})
	}
}

// ours is chainwalk's nft.
type ours struct{ *fakenft.Tools }

func (o *ours) fresh(*testing.T) {
	o.Tools = fakenft.New(fakenft.Options{Etc: fstest.MapFS{
		"passwd": {Data: []byte(accounts("root", "daemon", "bin", "sys", "sync", "games", "man", "lp", "mail", "news", "uucp"))},
		"group":  {Data: []byte(accounts("root", "daemon", "bin", "sys", "adm", "tty", "disk", "lp"))},
	}})
}

// accounts are the first ones of Debian, by their numbers.
func accounts(names ...string) string {
	var b strings.Builder
	for i, name := range names {
		b.WriteString(name + ":x:" + strconv.Itoa(i) + ":0::/:/bin/sh\n")
	}
	return b.String()
}

func (o *ours) run(args []string, stdin string) (stdout, stderr string) {
	c := o.Exec().Command("nft", args...)
	var out, errors strings.Builder
	c.SetStdin(strings.NewReader(stdin))
	c.SetStdout(&out)
	c.SetStderr(&errors)
	if err := c.Run(); err != nil && errors.Len() == 0 {
		return out.String(), err.Error() + "\n"
	}
	return out.String(), errors.String()
}

// A time that goes on between one run and the next.
var (
	passing     = regexp.MustCompile(`expires [0-9dhms]+`)
	passingJSON = regexp.MustCompile(`"expires": [0-9]+`)
)

// asked is what nft says to a command line.
func asked(nft tool, line string) string {
	stdout, stderr := nft.run(words(line), "")
	stdout = passing.ReplaceAllString(stdout, "expires X")
	return passingJSON.ReplaceAllString(stdout, `"expires": X`) + stderr
}

// words are the options of a command line, and its command as one word.
func words(line string) []string {
	var options []string
	for strings.HasPrefix(line, "-") {
		option, rest, _ := strings.Cut(line, " ")
		options, line = append(options, option), rest
	}
	return append(options, line)
}

// rule is how nft lists a rule: as text, and as JSON, and with each option that makes a difference.
func rule(nft tool, family, base, text string) string {
	chain := family + " x c"
	nft.run([]string{"add chain " + chain + " { type " + base + " ; }"}, "")
	defer nft.run([]string{"delete chain " + chain}, "")
	if _, stderr := nft.run([]string{"-f", "-"}, "add rule "+chain+" "+text+"\n"); stderr != "" {
		return stderr
	}
	var b strings.Builder
	for _, form := range [...]string{"", "-j"} {
		plain := ""
		for _, option := range [...]string{"", "-n", "-s", "-S", "-u", "-T"} {
			args := words(strings.TrimSpace(form + " " + option + " list chain " + chain))
			stdout, stderr := nft.run(args, "")
			got := lines(stdout)
			if form == "-j" {
				got = expressions(stdout)
			}
			if option == "" {
				plain = got
				b.WriteString(got + stderr)
			} else if got != plain {
				b.WriteString(option + " " + got)
			}
		}
	}
	return b.String()
}

// lines are the rules in the listing of a chain.
func lines(listing string) string {
	_, rules, _ := strings.Cut(listing, ";\n")
	rules, _, _ = strings.Cut(rules, "\n\t}\n}")
	return strings.TrimPrefix(rules, "\t\t") + "\n"
}

// expressions are those of the rule in a listing in JSON.
func expressions(listing string) string {
	_, rule, _ := strings.Cut(listing, `"expr": `)
	return strings.TrimSuffix(rule, "}}]}\n") + "\n"
}
