package toolrun

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mask takes out of the tools' output what is another each time.
type mask struct {
	reason string
	apply  func(stdout string) string
}

// masks are what is not compared. Runs in which one of them finds something are counted.
var masks = []mask{
	{"the time in the comments of iptables-save", WithoutDates},
	{"the time that nfacct list json prints", func(s string) string { return timestamp.ReplaceAllString(s, `"timestamp" : now`) }},
	{"the number that the kernel draws for a set", withoutDrawn},
	{"the order of a set's elements, which comes from that number", sortMembers},
	{"the time that is left to a set's elements", withoutSeconds},
}

var (
	timestamp  = regexp.MustCompile(`"timestamp" : [0-9]+`)
	drawnField = regexp.MustCompile(`(initval[ >])(0x[0-9a-f]+)`)
	timeLeft   = regexp.MustCompile(`(timeout[ >])([0-9]+)`)
)

// givenNumbers are the numbers that comparisons give to sets, so that the kernel draws none. Such sets keep the order of their elements.
var givenNumbers = []string{"0x00000000", "0x00000001", "0x00001234", "0xffffffff"}

const drawn = "drawn"

// maskLength is the length that ipset may print behind a set's bitmask: the lowest byte of its initval.
var maskLength = regexp.MustCompile(`(bitmask[ >][0-9a-f.:]+)/[0-9]+(.*initval[ >]` + drawn + ")")

func withoutDrawn(stdout string) string {
	stdout = drawnField.ReplaceAllStringFunc(stdout, func(field string) string {
		m := drawnField.FindStringSubmatch(field)
		if slices.Contains(givenNumbers, m[2]) {
			return field
		}
		return m[1] + drawn
	})
	return maskLength.ReplaceAllString(stdout, "$1$2")
}

// steadySeconds is what the time that is left to an element is rounded up to.
const steadySeconds = 100

// withoutSeconds rounds the time that is left to elements, which is less from second to second.
func withoutSeconds(stdout string) string {
	var b strings.Builder
	for line := range strings.Lines(stdout) {
		if !isHeader(line) {
			line = timeLeft.ReplaceAllStringFunc(line, func(field string) string {
				m := timeLeft.FindStringSubmatch(field)
				n, err := strconv.ParseUint(m[2], 10, 32)
				if err != nil {
					return field
				}
				return m[1] + strconv.FormatUint((n+steadySeconds-1)/steadySeconds*steadySeconds, 10)
			})
		}
		b.WriteString(line)
	}
	return b.String()
}

// prompt is what the shell of ipset prints before it reads a line.
const prompt = "ipset> "

// isHeader says that the line has the options of a set.
func isHeader(line string) bool {
	for strings.HasPrefix(line, prompt) {
		line = line[len(prompt):]
	}
	return strings.HasPrefix(line, "create ") || strings.HasPrefix(line, "Header: ") || strings.HasPrefix(line, "<header>")
}

// Steady applies the masks, and returns the reasons of those that found something.
func Steady(run Run) (Run, []string) {
	var reasons []string
	for _, m := range masks {
		if masked := m.apply(run.Stdout); masked != run.Stdout {
			run.Stdout = masked
			reasons = append(reasons, m.reason)
		}
	}
	return run, reasons
}

// WithoutDates takes the comments with times out of the output of iptables-save.
func WithoutDates(save string) string {
	var b strings.Builder
	for line := range strings.Lines(save) {
		if !strings.HasPrefix(line, "# Generated") && !strings.HasPrefix(line, "# Completed") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// sortMembers brings the elements of the sets that have a drawn number into one order.
func sortMembers(stdout string) string {
	lines := strings.SplitAfter(stdout, "\n")
	isDrawn := false
	for i := 0; i < len(lines); {
		switch {
		case isHeader(lines[i]):
			isDrawn = strings.Contains(lines[i], drawn)
		case isDrawn && isMember(lines, i):
			start := i
			for i < len(lines) && isMember(lines, i) {
				i++
			}
			slices.Sort(lines[start:i])
			continue
		}
		i++
	}
	return strings.Join(lines, "")
}

// isMember says that the line with that index is an element, in the text of save, of XML or of list.
func isMember(lines []string, i int) bool {
	if strings.HasPrefix(lines[i], "add ") || strings.HasPrefix(lines[i], "<member>") {
		return true
	}
	if lines[i] == "Members:\n" || strings.HasPrefix(lines[i], prompt) {
		return false
	}
	for ; i > 0 && strings.TrimSpace(lines[i]) != "" && !strings.HasPrefix(lines[i], "Name: "); i-- {
		if lines[i-1] == "Members:\n" || strings.HasPrefix(lines[i-1], "Number of entries: ") {
			return true
		}
	}
	return false
}

// drawnSize is what ipset prints of the size of a set and of its table.
var drawnSize = regexp.MustCompile(`(Size in memory: |<memsize>|hashsize[ >])([0-9]+)`)

// sharesBuckets says that two outputs are the same, but for the sizes of sets with a drawn number.
func sharesBuckets(theirs, ours string) bool {
	a, b := strings.SplitAfter(theirs, "\n"), strings.SplitAfter(ours, "\n")
	if len(a) != len(b) {
		return false
	}
	isDrawn := false
	for i := range a {
		if isHeader(a[i]) {
			isDrawn = strings.Contains(a[i], drawn)
		}
		if a[i] != b[i] && (!isDrawn || drawnSize.ReplaceAllString(a[i], "") != drawnSize.ReplaceAllString(b[i], "")) {
			return false
		}
	}
	return true
}
