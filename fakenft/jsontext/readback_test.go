package jsontext_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/fakenft/jsontext"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// tool is an nft: ours, or the real one.
type tool interface {
	// fresh is an empty network namespace.
	fresh(t *testing.T)
	run(args []string, stdin string) (stdout, stderr string)
}

// TestReadBack gives the tool what it lists, and expects what the real tool does (testdata, which TestKernelReadBack writes with -rewrite).
func TestReadBack(t *testing.T) { readBack(t, &ours{}) }

func readBack(t *testing.T, nft tool) {
	datadriven.RunTest(t, "testdata/readback", func(t *testing.T, d *datadriven.TestData) string {
		return notReadBack(t, nft, d.Cmd)
	})
}

// TestMistakes reads JSON that has mistakes, and expects what the real tool says (testdata, which TestKernelMistakes writes with -rewrite).
func TestMistakes(t *testing.T) {
	mistakes(t, func(text string) string {
		_, found, isJSON := jsontext.Commands(&syntax.Input{Name: "/dev/stdin", Text: text})
		require.True(t, isJSON)
		var b strings.Builder
		for _, m := range found {
			b.WriteString(syntax.Render(m))
		}
		return b.String()
	})
}

func mistakes(t *testing.T, read func(text string) string) {
	datadriven.RunTest(t, "testdata/mistakes", func(_ *testing.T, d *datadriven.TestData) string {
		return read(d.Input)
	})
}

// ours is chainwalk's nft.
type ours struct{ *fakenft.Tools }

func (o *ours) fresh(*testing.T) { o.Tools = fakenft.New(fakenft.Options{}) }

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

// notReadBack is what becomes of the rules of a family that are listed otherwise than they were given, or not taken.
func notReadBack(t *testing.T, nft tool, family string) string {
	text, err := os.ReadFile(filepath.Join("../print/testdata/rules", family))
	require.NoError(t, err)
	setup, rules, _ := strings.Cut(string(text), "\n----\n")
	nft.fresh(t)
	_, stderr := nft.run([]string{"-f", "-"}, strings.TrimPrefix(setup, "setup\n")+"\n")
	require.Empty(t, stderr)
	var b strings.Builder
	base := ""
	for line := range strings.Lines(rules) {
		if at, ok := strings.CutPrefix(line, "rule at=("); ok {
			base = strings.TrimSuffix(at, ")\n")
		}
		if !strings.HasPrefix(line, "[{") && !strings.HasPrefix(line, `["`) {
			continue
		}
		line = strings.TrimSuffix(line, "\n")
		if got := readBackRule(nft, family, base, line); got != line {
			b.WriteString(line + "\n  " + strings.ReplaceAll(strings.TrimSpace(got), "\n", "\n  ") + "\n")
		}
	}
	return b.String()
}

// readBackRule is the listing of a rule that was given as JSON, or what nft says.
func readBackRule(nft tool, family, base, expressions string) string {
	chain := family + " x c"
	nft.run([]string{"add chain " + chain + " { type " + base + " ; }"}, "")
	defer nft.run([]string{"delete chain " + chain}, "")
	command := `{"nftables": [{"add": {"rule": {"family": "` + family + `", "table": "x", "chain": "c", "expr": ` + expressions + `}}}]}`
	if _, stderr := nft.run([]string{"-j", "-f", "-"}, command); stderr != "" {
		return strings.ReplaceAll(stderr, "\n\n", "\n")
	}
	stdout, _ := nft.run([]string{"-j", "list chain " + chain}, "")
	_, rule, _ := strings.Cut(stdout, `"expr": `)
	return strings.TrimSuffix(rule, "}}]}\n")
}
