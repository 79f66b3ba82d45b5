package differ

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/chainwalk/chainwalk/kindtest/onkernel/nftdiffer"
	"github.com/chainwalk/chainwalk/netfilter"
)

// summary adds up what a search and the kernel tests compared. Tests are read as the events of "go test -json".
type summary struct {
	// out gets the output of tests that failed or were skipped, and of packages.
	out io.Writer

	numbers                 []numbersLine
	passed, failed, skipped int
	textReplays             int // recorded text cases, each of which is a test
	output                  map[testName]*strings.Builder
}

type testName struct{ Package, Test string }

// event is one of "go tool test2json".
type event struct {
	Action string
	testName
	Output string
}

// add takes a line of the events. Other lines are passed on. It is an error if numbers cannot be read.
func (s *summary) add(line string) error {
	var e event
	if err := json.Unmarshal([]byte(line), &e); err != nil || e.Action == "" {
		fmt.Fprintln(s.out, line)
		return nil
	}
	switch e.Action {
	case "output", "build-output":
		return s.addOutput(&e)
	case "pass", "fail", "skip":
		s.end(&e)
	}
	return nil
}

// addOutput takes a piece of a test's output, of which only whole lines are looked at.
func (s *summary) addOutput(e *event) error {
	if e.Test == "" {
		fmt.Fprint(s.out, e.Output)
		return nil
	}
	if s.output == nil {
		s.output = map[testName]*strings.Builder{}
	}
	b := s.output[e.testName]
	if b == nil {
		b = &strings.Builder{}
		s.output[e.testName] = b
	}
	b.WriteString(e.Output)
	text := b.String()
	start := strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n") + 1
	line, is := strings.CutPrefix(text[start:], numbersPrefix)
	if !is || !strings.HasSuffix(line, "\n") {
		return nil
	}
	b.Reset()
	b.WriteString(text[:start])
	var n numbersLine
	if err := json.Unmarshal([]byte(line), &n); err != nil {
		return fmt.Errorf("numbers of %s: %w", e.Test, err)
	}
	s.numbers = append(s.numbers, n)
	return nil
}

// end counts a test and shows what it printed if it did not pass.
func (s *summary) end(e *event) {
	text := s.output[e.testName]
	delete(s.output, e.testName)
	switch e.Action {
	case "pass":
		if e.Test != "" {
			s.passed++
		}
		if strings.HasPrefix(e.Test, "TestKernelTextCases/") {
			s.textReplays++
		}
		return
	case "skip":
		if e.Test == "" { // so go test says that a package has no test files
			return
		}
		s.skipped++
	default:
		s.failed++
	}
	if text != nil {
		fmt.Fprint(s.out, text.String())
	}
}

// held says that something was compared, and tests ran if there were to be any, and that none failed, was skipped or found a disagreement.
func (s *summary) held(withTests bool) bool {
	ran := s.passed > 0 || !withTests && len(s.numbers) > 0
	return ran && s.failed == 0 && s.skipped == 0 && s.total().disagreements == 0
}

// row is one line of the table.
type row struct {
	name                                                             string
	rulesets, rules, packets, steps, draws, textCases, disagreements int
}

func (r *row) add(o row) {
	r.rulesets += o.rulesets
	r.rules += o.rules
	r.packets += o.packets
	r.steps += o.steps
	r.draws += o.draws
	r.textCases += o.textCases
	r.disagreements += o.disagreements
}

// rowOf is what one line of numbers adds to the table.
func rowOf(n *numbersLine) row {
	switch {
	case n.Walk != nil:
		w := n.Walk
		return row{w.name(), w.Rulesets, w.Rules, w.Packets, w.Steps, w.Fit.Draws, 0, len(w.Disagreements)}
	case n.Text != nil:
		t := n.Text
		return row{name: strings.TrimSpace(rowName(t.Dialect, t.Family) + " " + t.Tool), textCases: t.Runs, disagreements: len(t.Disagreements)}
	case n.NFT != nil:
		return row{name: "sessions of nft", textCases: n.NFT.Runs, disagreements: n.NFT.Differ}
	case n.Replay != nil:
		r := n.Replay
		return row{name: "recorded walk cases", rulesets: r.Cases, packets: r.Packets, steps: r.Steps}
	}
	return row{}
}

func rowName(d netfilter.Dialect, family int) string { return fmt.Sprintf("%s IPv%d", d, family) }

// rows has a row for each dialect and family, in the order in which they came.
func (s *summary) rows() []row {
	var rows []row
	at := map[string]int{}
	for i := range s.numbers {
		r := rowOf(&s.numbers[i])
		if _, known := at[r.name]; !known {
			at[r.name] = len(rows)
			rows = append(rows, row{name: r.name})
		}
		rows[at[r.name]].add(r)
	}
	if s.textReplays > 0 {
		rows = append(rows, row{name: "recorded text cases", textCases: s.textReplays})
	}
	return rows
}

func (s *summary) total() row {
	total := row{name: "together"}
	for _, r := range s.rows() {
		total.add(r)
	}
	return total
}

// print writes the table, what is left out, and the tests' results.
func (s *summary) print(took time.Duration) {
	w := s.out
	fmt.Fprintf(w, "\nCompared with this machine's kernel and tools in %.0f s:\n", took.Seconds())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\trulesets\trules\tpackets\tsteps\tdraws\ttext cases\tdisagreements\t")
	for _, r := range append(s.rows(), s.total()) {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", r.name, r.rulesets, r.rules, r.packets, r.steps, r.draws, r.textCases,
			r.disagreements)
	}
	_ = t.Flush()
	s.printTexts()
	s.printNFT()
	s.printLeftOut()
	fmt.Fprintf(w, "tests: %d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
}

// printTexts tells how many calls of the tools the text differential compared, and from which seed.
func (s *summary) printTexts() {
	calls, failing, differ, seed := 0, 0, 0, uint64(0)
	for i := range s.numbers {
		if n := s.numbers[i].Text; n != nil {
			calls, failing, differ, seed = calls+n.Runs, failing+n.Failing, differ+len(n.Disagreements), n.Seed
		}
	}
	if calls > 0 {
		fmt.Fprintf(s.out, "calls of the tools compared: %d of seed %d (both refused %d), %d kinds of disagreement\n", calls, seed, failing,
			differ)
	}
}

// printNFT tells what of nft was compared, and what it was asked about.
func (s *summary) printNFT() {
	walks, met := row{}, coverage{}
	var sessions nftdiffer.Numbers
	for i := range s.numbers {
		switch n := &s.numbers[i]; {
		case n.Walk != nil && n.Walk.Native:
			walks.add(rowOf(n))
			met.join(n.Walk.Coverage)
		case n.NFT != nil:
			sessions = *n.NFT
			walks.disagreements += n.NFT.Differ
		}
	}
	if sessions.Sessions == 0 && walks.rulesets == 0 {
		return
	}
	fmt.Fprintf(s.out, "nft: %d sessions, %d calls (both refused %d), %d rulesets, %d packets, %d steps, %d disagreements\n",
		sessions.Sessions, sessions.Runs, sessions.Failing, walks.rulesets, walks.packets, walks.steps, walks.disagreements)
	if walks.rulesets > 0 {
		met.printNative(s.out)
	}
	if sessions.Sessions > 0 {
		sessions.Print(s.out)
	}
}

// printLeftOut tells what was not compared, with its reason and how often it came up.
func (s *summary) printLeftOut() {
	counts, reached, all := map[string]int{}, 0, 0
	for i := range s.numbers {
		switch n := &s.numbers[i]; {
		case n.Walk != nil:
			if !n.Walk.Native {
				reached += n.Walk.Coverage.reached(n.Walk.Family)
				all += reachable(n.Walk.Family)
			}
			for _, l := range n.Walk.LeftOut {
				counts["left out: "+l.Piece+": "+l.Reason]++
			}
			for reason, count := range n.Walk.Ended {
				counts["rulesets not compared to their end: "+reason] += count
			}
		case n.Text != nil:
			for reason, count := range n.Text.Excused {
				counts["text cases excused: "+reason] += count
			}
		}
	}
	if all > 0 {
		fmt.Fprintf(s.out, "matches and targets met by packets: %d of %d, over all dialects and families\n", reached, all)
	}
	for i := range s.numbers {
		if o := s.numbers[i].Options; o != nil {
			fmt.Fprintf(s.out, "options of matches and targets in rules that the tools were asked about: %d of %d\n", o.Asked, o.All)
			for _, name := range o.Missing {
				fmt.Fprintf(s.out, "not asked about: %s\n", name)
			}
		}
	}
	for _, what := range sortedKeys(counts) {
		fmt.Fprintf(s.out, "%d times %s\n", counts[what], what)
	}
}
