package check_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/chainwalk/chainwalk/fakenft/check"
	"github.com/chainwalk/chainwalk/fakenft/compile"
	"github.com/chainwalk/chainwalk/fakenft/parse"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// judge is what a tool says to a rule, after a setup: the bytecode of the rule and the sets that it declares, or its mistakes.
type judge interface {
	setup(t *testing.T, commands string)
	rule(t *testing.T, family, rule string) string
	script(t *testing.T, text string) string
}

// TestRules reads what the real tool said to rules (testdata/rules, which TestRulesKernel writes with -rewrite) and expects the same.
func TestRules(t *testing.T) {
	runRules(t, "testdata/rules/*", sample.InAll, func() judge { return &ours{} })
}

// TestScripts does the same for several commands at once (testdata/scripts).
func TestScripts(t *testing.T) {
	runRules(t, "testdata/scripts/*", sample.InAll, func() judge { return &ours{} })
}

func runRules(t *testing.T, pattern string, takes func(t testing.TB, i int) bool, fresh func() judge) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			j := fresh()
			same, all, asked := 0, 0, 0
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				if d.Cmd == "setup" {
					j.setup(t, d.Input)
					return ""
				}
				asked++
				if !takes(t, asked) {
					return d.Expected
				}
				family, got := "", ""
				if d.Cmd == "script" {
					got = j.script(t, d.Input+"\n")
				} else {
					d.ScanArgs(t, "family", &family)
					got = j.rule(t, family, strings.TrimSuffix(d.Input, "\n"))
				}
				all++
				if got == d.Expected {
					same++
				}
				return got
			})
			t.Logf("%d of %d rules are equal", same, all)
		})
	}
}

// ours is parse, check and compile.
type ours struct {
	text string
}

func (o *ours) setup(t *testing.T, commands string) { o.text = commands }

func (o *ours) rule(t *testing.T, family, rule string) (said string) {
	defer func() {
		if p := recover(); p != nil {
			said = fmt.Sprintf("panic: %v\n", p)
		}
	}()
	c := check.New(check.Empty{})
	before, mistakes := parse.Text(&syntax.Input{Name: "/dev/stdin", Text: o.text}, parse.Options{})
	for _, cmd := range before {
		mistakes = append(mistakes, c.Command(cmd)...)
	}
	if len(mistakes) > 0 {
		return "setup: " + syntax.Render(mistakes[0])
	}
	return o.says(c, fmt.Sprintf("add rule %s t c %s\n", family, rule))
}

func (o *ours) script(t *testing.T, text string) (said string) {
	defer func() {
		if p := recover(); p != nil {
			said = fmt.Sprintf("panic: %v\n", p)
		}
	}()
	return o.says(check.New(check.Empty{}), text)
}

// says is what comes out of commands.
func (o *ours) says(c *check.Checker, text string) string {
	commands, mistakes := parse.Text(&syntax.Input{Name: "/dev/stdin", Text: text}, parse.Options{})
	mistakes = append(mistakes, c.Commands(commands)...)
	var b strings.Builder
	for _, m := range mistakes {
		b.WriteString(syntax.Render(m))
	}
	if len(mistakes) > 0 {
		return b.String()
	}
	for _, cmd := range commands {
		changes, err := compile.Command(cmd)
		if err != nil {
			return err.Error() + "\n"
		}
		for _, change := range changes {
			writeChange(&b, change)
		}
	}
	return b.String()
}

// writeChange writes a change as `nft --debug=netlink` does.
func writeChange(b *strings.Builder, change nftables.Change) {
	switch ch := change.(type) {
	case *nftables.AddSet:
		if ch.Set.Flags&nftables.SetAnonymous != 0 {
			fmt.Fprintf(b, "%s flags %x\n", ch.Set.Name, ch.Set.Flags)
		}
	case *nftables.AddElements:
		for i := range ch.Elements {
			writeElement(b, &ch.Elements[i])
		}
	case *nftables.DeleteElements:
		for i := range ch.Elements {
			writeElement(b, &ch.Elements[i])
		}
	case *nftables.AddRule:
		for _, e := range ch.Exprs {
			b.WriteString("  " + expr.Text(e) + "\n")
		}
	}
}

func words(b []byte) string {
	var w strings.Builder
	for i := 0; i < len(b); i += 4 {
		var n uint32
		for j := min(i+3, len(b)-1); j >= i; j-- {
			n = n<<8 | uint32(b[j])
		}
		fmt.Fprintf(&w, "%08x ", n)
	}
	return w.String()
}

func writeElement(out *strings.Builder, e *nftables.ElementSpec) {
	b := &strings.Builder{}
	defer func() { out.WriteString(strings.Join(strings.Fields(b.String()), " ") + "\n") }()
	b.WriteString("element " + words(e.Key))
	if len(e.KeyEnd) > 0 {
		b.WriteString(" - " + words(e.KeyEnd))
	}
	b.WriteString(" : ")
	if e.Data != nil && e.Flags&nftables.ElementIntervalEnd == 0 {
		if v := e.Data.Verdict; v != nil {
			b.WriteString(verdict(v) + " ")
		} else {
			b.WriteString(words(e.Data.Bytes))
		}
	}
	fmt.Fprintf(b, "%d [end]", e.Flags)
}

func verdict(v *expr.Verdict) string {
	name := map[expr.Code]string{
		expr.Accept: "accept", expr.Drop: "drop", expr.Jump: "jump", expr.Goto: "goto", expr.Return: "return", expr.Continue: "continue",
		expr.Break: "break", expr.Queue: "queue",
	}[v.Code]
	if v.Chain != "" {
		return name + " -> " + v.Chain
	}
	return name
}
