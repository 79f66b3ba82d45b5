//go:build linux

package check_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// TestRulesKernel asks the real nft. It writes down what it said with -rewrite.
func TestRulesKernel(t *testing.T) {
	kerneltest.Need(t, "nft")
	runRules(t, func() judge { return &real{} })
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
	declaration = regexp.MustCompile(`^(__(?:set|map|objmap)%d|m\d) t ([0-9a-f]+) size \d+$|^(__(?:set|map|objmap)%d|m\d) t ([0-9a-f]+)$`)
	element     = regexp.MustCompile(`element .*? \[end\]`)
)

func (r *real) rule(t *testing.T, family, rule string) string {
	got := r.Run([]string{"nft", "--debug=netlink", "-c", "-f", "-"}, fmt.Sprintf("add rule %s t c %s\n", family, rule))
	if got.Status > 1 {
		return "crash\n"
	}
	if got.Stderr != "" && !strings.Contains(got.Stderr, "Could not process rule") && !strings.Contains(got.Stderr, "did you mean chain") {
		return got.Stderr
	}
	var b strings.Builder
	inSet, last := false, ""
	for line := range strings.Lines(got.Stdout) {
		line = strings.TrimRight(line, "\n")
		if m := declaration.FindStringSubmatch(line); m != nil {
			inSet = true
			if name := m[1] + m[3]; m[2] != "" || m[4] != "0" {
				last = fmt.Sprintf("%s flags %s\n", name, m[2]+m[4])
				b.WriteString(last)
			}
			continue
		}
		switch {
		case strings.HasPrefix(line, "  ["):
			b.WriteString(line + "\n")
		case inSet && strings.HasPrefix(line, "\telement"):
			for _, e := range element.FindAllString(line, -1) {
				b.WriteString(strings.Join(strings.Fields(strings.Replace(e, "  ", " ", -1)), " ") + "\n")
			}
		default:
			inSet = false
		}
	}
	return b.String()
}
