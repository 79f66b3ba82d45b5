package nftdiffer

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/internal/ddmin"
	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
)

// Bounds are how far a search goes.
type Bounds struct {
	Seed     uint64
	Sessions int
	Time     time.Duration // 0: no bound
	Most     int           // disagreements of different kinds
	Folder   string        // where disagreements are written as sessions; empty: nowhere
}

// Numbers are what a search has found.
type Numbers struct {
	Sessions, Runs, Failing int
	Lacks                   map[string]int // what the fake has refused by name, and how often
	Asked                   map[string]int // options, commands, expressions, forms, statements, and how often
	Differ                  int            // sessions that differ
	Kinds                   map[string]int // by how they differ
}

// verdict is what comparing a session gave.
type verdict struct {
	runs []toolrun.Run // of the real tool
	// kind is empty if all is the same; the same for differences that look alike.
	kind, text string
	lacks      string // what the fake refuses by name
}

// judge makes the steps on a machine of each side, up to the first difference, and lists what is left.
func judge(steps []step, fresh [2]func() (machine, error)) (*verdict, error) {
	var machines [2]machine
	for i := range machines {
		m, err := fresh[i]()
		if err != nil {
			return nil, err
		}
		defer m.close()
		machines[i] = m
	}
	v := &verdict{}
	for _, s := range slices.Concat(steps, endSteps()) {
		theirs, err := s.do(machines[0])
		if err != nil {
			return nil, err
		}
		ours, err := s.do(machines[1])
		if err != nil {
			return nil, err
		}
		v.runs = append(v.runs, theirs)
		if theirs == ours {
			continue
		}
		v.lacks = excuse(&s, theirs, ours)
		if v.lacks != "" {
			return v, nil
		}
		v.kind = kindOf(&s, &theirs, &ours)
		v.text = fmt.Sprintf("%s\n%s", &s, toolrun.Diff(theirs.Lines(), ours.Lines()))
		return v, nil
	}
	return v, nil
}

// kindOf names a difference by its first line of each side, with numbers and names masked.
func kindOf(s *step, theirs, ours *toolrun.Run) string {
	what := ""
	if len(s.Args) > 0 {
		what = s.Args[0]
	}
	if theirs.Stderr != ours.Stderr {
		real, fake := messages(theirs.Stderr), messages(ours.Stderr)
		i := 0
		for i < len(real)-1 && i < len(fake)-1 && real[i] == fake[i] {
			i++
		}
		if real[i] == fake[i] {
			return "places of " + real[i]
		}
		return fmt.Sprintf("stderr: real %d %q, ours %d %q", theirs.Status, real[i], ours.Status, fake[i])
	}
	real, fake := firstDifferent(theirs.Stdout, ours.Stdout)
	return fmt.Sprintf("stdout of %s: real %d %q, ours %d %q", what, theirs.Status, masked(real), ours.Status, masked(fake))
}

// messages are the messages of a tool without their places and numbers.
func messages(stderr string) []string {
	var found []string
	for line := range strings.Lines(stderr) {
		if _, text, is := strings.Cut(line, "Error: "); is {
			found = append(found, masked(strings.TrimSuffix(text, "\n")))
		}
	}
	return append(found, "")
}

// firstDifferent are the first lines that are not the same; of long lines what is around the difference.
func firstDifferent(a, b string) (string, string) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	i := 0
	for i < len(x)-1 && i < len(y)-1 && x[i] == y[i] {
		i++
	}
	p, q := x[i], y[i]
	same := 0
	for same < len(p) && same < len(q) && p[same] == q[same] {
		same++
	}
	const around = 60
	from := max(0, same-around)
	return p[min(from, len(p)):min(len(p), same+around)], q[min(from, len(q)):min(len(q), same+around)]
}

// masked is a line without its numbers.
func masked(line string) string {
	var b strings.Builder
	digits := false
	for _, r := range line {
		is := r >= '0' && r <= '9'
		if is && digits {
			continue
		}
		if digits = is; is {
			r = 'N'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Search compares random sessions on both sides until a bound is reached.
func Search(ctx context.Context, b Bounds, log io.Writer) (*Numbers, error) {
	return search(ctx, b, [2]func() (machine, error){newRealMachine, newFakeMachine}, log)
}

func search(ctx context.Context, b Bounds, fresh [2]func() (machine, error), log io.Writer) (*Numbers, error) {
	g, err := newGen(b.Seed)
	if err != nil {
		return nil, err
	}
	n := &Numbers{Lacks: map[string]int{}, Asked: g.asked, Kinds: map[string]int{}}
	start := time.Now()
	for n.Sessions < b.Sessions && len(n.Kinds) < b.Most && (b.Time == 0 || time.Since(start) < b.Time) {
		if ctx.Err() != nil {
			return n, context.Cause(ctx)
		}
		steps := g.session()
		v, err := judge(steps, fresh)
		for err == nil && v.lacks != "" && len(v.runs) <= len(steps) {
			// The rest is compared without the step that cannot be.
			n.Lacks[v.lacks]++
			steps = slices.Delete(steps, len(v.runs)-1, len(v.runs))
			v, err = judge(steps, fresh)
		}
		if err != nil {
			return n, fmt.Errorf("session %d of seed %d: %w", n.Sessions+1, b.Seed, err)
		}
		n.Sessions++
		n.Runs += len(v.runs)
		for _, run := range v.runs {
			if run.Status != 0 {
				n.Failing++
			}
		}
		if v.lacks != "" {
			n.Lacks[v.lacks]++
		}
		if v.kind == "" {
			continue
		}
		n.Differ++
		if n.Kinds[v.kind]++; n.Kinds[v.kind] > 1 {
			continue
		}
		steps, v = shrink(steps, v, fresh)
		before := steps // those before the one that differs, which may list what is left in the end
		if len(v.runs) <= len(steps) {
			before = steps[:len(v.runs)-1]
		}
		fmt.Fprintf(log, "DIFFERENCE %d (seed %d, session %d): %s\n%s%s\n", n.Differ, b.Seed, n.Sessions, v.kind, text(before), v.text)
		if b.Folder != "" {
			name := filepath.Join(b.Folder, fmt.Sprintf("nft-%d-%d", b.Seed, n.Sessions))
			if err := os.MkdirAll(b.Folder, 0o755); err != nil {
				return n, err
			}
			if err := os.WriteFile(name, []byte(file(v.kind, steps)), 0o644); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// text is steps one below the other.
func text(steps []step) string {
	var b strings.Builder
	for i := range steps {
		b.WriteString(steps[i].String() + "\n")
	}
	return b.String()
}

// file is a session as a file without the real tool's answers.
func file(title string, steps []step) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\nnew\n----\n\n", strings.ReplaceAll(title, "\n", " "))
	for i := range steps {
		b.WriteString(steps[i].String() + "\n----\n\n")
	}
	b.WriteString("end\n----\n")
	return b.String()
}

// shrink looks for a smaller session that differs in the same way: fewer steps, fewer lines, fewer words.
func shrink(steps []step, v *verdict, fresh [2]func() (machine, error)) ([]step, *verdict) {
	tries := 0
	differs := func(s []step) bool {
		if tries++; tries > 300 {
			return false
		}
		w, err := judge(s, fresh)
		if err != nil || w.kind != v.kind {
			return false
		}
		v = w
		return true
	}
	steps = steps[:min(len(v.runs), len(steps))]
	steps = shorter(steps, differs)
	for i := range steps {
		with := func(stdin string, args []string) []step {
			s := slices.Clone(steps)
			s[i].Stdin, s[i].Args = stdin, args
			return s
		}
		lines := strings.SplitAfter(steps[i].Stdin, "\n")
		if steps[i].Stdin != "" {
			lines = shorter(lines, func(l []string) bool { return differs(with(strings.Join(l, ""), steps[i].Args)) })
			steps[i].Stdin = strings.Join(lines, "")
			words := strings.Split(steps[i].Stdin, " ")
			words = shorter(words, func(w []string) bool { return differs(with(strings.Join(w, " "), steps[i].Args)) })
			steps[i].Stdin = strings.Join(words, " ")
			continue
		}
		steps[i].Args = shorter(steps[i].Args, func(a []string) bool { return len(a) > 0 && differs(with("", a)) })
	}
	return steps, v
}

// shorter is a list with as few elements as differ.
func shorter[T any](list []T, differs func([]T) bool) []T {
	ddmin.List(len(list), func(at, size int) bool {
		less := slices.Delete(slices.Clone(list), at, at+size)
		if !differs(less) {
			return false
		}
		list = less
		return true
	})
	return list
}
