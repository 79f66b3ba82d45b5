//go:build linux

package check_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/sample"
)

// TestRulesKernel asks the real nft. It writes down what it said with -rewrite.
func TestRulesKernel(t *testing.T) {
	kerneltest.Need(t, "nft")
	runRules(t, "testdata/rules/*", sample.InPart, func() judge { return &real{} })
}

// TestScriptsKernel is TestRulesKernel for several commands at once.
func TestScriptsKernel(t *testing.T) {
	kerneltest.Need(t, "nft")
	runRules(t, "testdata/scripts/*", sample.InPart, func() judge { return &real{} })
}

// real is the tool of this machine, in a namespace of its own.
type real struct{ *kerneltest.Namespace }

func (r *real) setup(t *testing.T, commands string) {
	r.Namespace = kerneltest.New(t)
	if got := r.Run([]string{"nft", "-f", "-"}, commands); got.Status != 0 {
		t.Fatal(got.Stderr)
	}
}

var (
	// What nft prints of a set that a rule declares: its name, table and flags, and then its elements.
	declaration = regexp.MustCompile(`^(\S+) [tn] ([0-9a-f]+)(?: size \d+)?$`)
	meters      = regexp.MustCompile(`^m\d$`)
	element     = regexp.MustCompile(`element .*? \[end\]`)
)

func (r *real) rule(t *testing.T, family, rule string) string {
	return r.says(fmt.Sprintf("add rule %s t c %s\n", family, rule))
}

func (r *real) script(t *testing.T, text string) string {
	if r.Namespace == nil {
		r.Namespace = kerneltest.New(t)
	}
	return r.says(text)
}

func (r *real) says(text string) string {
	got := r.Run([]string{"nft", "--debug=netlink", "-c", "-f", "-"}, text)
	if got.Status > 1 {
		return "crash\n"
	}
	if got.Stderr != "" && !strings.Contains(got.Stderr, "Could not process rule") && !strings.Contains(got.Stderr, "did you mean chain") {
		return got.Stderr
	}
	var b strings.Builder
	inSet := false
	for line := range strings.Lines(got.Stdout) {
		line = strings.TrimRight(line, "\n")
		if m := declaration.FindStringSubmatch(line); m != nil {
			inSet = true
			if anonymous := strings.HasPrefix(m[1], "__") || meters.MatchString(m[1]); anonymous && m[2] != "0" {
				fmt.Fprintf(&b, "%s flags %s\n", m[1], m[2])
			}
			continue
		}
		switch {
		case strings.HasPrefix(line, "  ["):
			b.WriteString(line + "\n")
		case inSet && strings.HasPrefix(line, "\telement"):
			for _, e := range element.FindAllString(line, -1) {
				b.WriteString(strings.Join(strings.Fields(strings.ReplaceAll(e, "  ", " ")), " ") + "\n")
			}
		default:
			inSet = false
		}
	}
	return b.String()
}
