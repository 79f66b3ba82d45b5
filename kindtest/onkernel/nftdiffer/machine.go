package nftdiffer

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
)

// machine is a network namespace with the tool nft, and a folder in which it runs.
type machine interface {
	// run runs nft with arguments.
	run(args []string, stdin string) (toolrun.Run, error)
	// write makes a file in the folder.
	write(name, text string) error
	close()
}

// step is one run of nft, or a file that is written before the next one.
type step struct {
	Args  []string
	Stdin string
	File  string // its text is in Stdin
}

// String is the step as a session's file has it.
func (s *step) String() string {
	if s.File != "" {
		return fmt.Sprintf("file name=%s\n%s", s.File, s.Stdin)
	}
	line := joinWords(s.Args)
	if s.Stdin == "" {
		return "nft\n" + line
	}
	if s.Stdin == strings.TrimSpace(s.Stdin)+"\n" && !strings.Contains("\n"+s.Stdin, "\n----\n") {
		return "nft\n" + line + "\n" + strings.TrimSuffix(s.Stdin, "\n")
	}
	return "nft raw\n" + line + "\n" + strconv.Quote(s.Stdin)
}

// do makes the step. A file gives an empty run.
func (s *step) do(m machine) (toolrun.Run, error) {
	if s.File != "" {
		return toolrun.Run{}, m.write(s.File, s.Stdin)
	}
	run, err := m.run(s.Args, s.Stdin)
	return steady(run), err
}

// endSteps list what a session has left.
func endSteps() []step {
	return []step{{Args: []string{"-a", "list", "ruleset"}}, {Args: []string{"-j", "list", "ruleset"}}, {Args: []string{"list", "ruleset"}}}
}

// Parts of listings that are another each time: the rest of an element's life, the number of a process.
var (
	expiresText = regexp.MustCompile(`expires [0-9a-z]+`)
	expiresJSON = regexp.MustCompile(`"expires": [0-9]+`)
	handleNote  = regexp.MustCompile(`(?m) # handle [0-9]+$`)
	process     = regexp.MustCompile(`by process [0-9]+ \(`)
)

// steady masks what is another each time.
func steady(run toolrun.Run) toolrun.Run {
	if strings.Contains(run.Stdout, "expires") {
		run.Stdout = expiresText.ReplaceAllString(run.Stdout, "expires T")
		run.Stdout = expiresJSON.ReplaceAllString(run.Stdout, `"expires": 0`)
	}
	if strings.Contains(run.Stdout, "by process") {
		run.Stdout = process.ReplaceAllString(run.Stdout, "by process P (")
	}
	return run
}

// result is what a run looks like in a file.
func result(run toolrun.Run) string {
	var b strings.Builder
	writeLines(&b, "", run.Stdout)
	writeLines(&b, "2> ", run.Stderr)
	if run.Status != 0 {
		fmt.Fprintf(&b, "exit %d\n", run.Status)
	}
	return b.String()
}

// writeLines keeps empty lines, trailing blanks, bytes that are no text, and the lack of a line's end visible, which the files need.
func writeLines(b *strings.Builder, prefix, text string) {
	for line := range strings.Lines(text) {
		line, ended := strings.CutSuffix(line, "\n")
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0xfffd }) {
			line = strconv.Quote(line)
		}
		b.WriteString(prefix + line)
		if line == "" || strings.HasSuffix(line, " ") || strings.HasSuffix(line, "\t") {
			b.WriteString("$")
		}
		if !ended {
			b.WriteString("(no end of line)")
		}
		b.WriteString("\n")
	}
}

// endResult is what a session has left: with handles and as JSON; and without handles, if that is not the same text.
func endResult(m machine) (string, error) {
	var runs []toolrun.Run
	for _, s := range endSteps() {
		run, err := s.do(m)
		if err != nil {
			return "", err
		}
		runs = append(runs, run)
	}
	text := result(runs[0]) + result(runs[1])
	if handleNote.ReplaceAllString(runs[0].Stdout, "") != runs[2].Stdout {
		text += "without -a:\n" + result(runs[2])
	}
	return text, nil
}

// splitWords takes a command line apart at its blanks; what stands between apostrophes is one word.
func splitWords(line string) []string {
	var words []string
	for {
		line = strings.TrimLeft(line, " ")
		if line == "" {
			return words
		}
		if rest, quoted := strings.CutPrefix(line, "'"); quoted {
			word, behind, _ := strings.Cut(rest, "'")
			words, line = append(words, word), behind
			continue
		}
		word, behind, _ := strings.Cut(line, " ")
		words, line = append(words, word), behind
	}
}

// joinWords is the line that splitWords takes apart.
func joinWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if quoted[i] = w; w == "" || strings.ContainsAny(w, " ") {
			quoted[i] = "'" + w + "'"
		}
	}
	return strings.Join(quoted, " ")
}
