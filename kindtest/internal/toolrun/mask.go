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
	{"the number that the kernel draws for a set", func(s string) string { return drawnField.ReplaceAllString(s, "initval${1}drawn") }},
	{"the order of a set's elements, which comes from that number", sortMembers},
}

var (
	timestamp  = regexp.MustCompile(`"timestamp" : [0-9]+`)
	drawnField = regexp.MustCompile(`initval([ >])0x[0-9a-f]+`)
)

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
	drawn := false
	for i := 0; i < len(lines); {
		switch {
		case strings.HasPrefix(lines[i], "create ") || strings.HasPrefix(lines[i], "Header: ") || strings.HasPrefix(lines[i], "<header>"):
			drawn = strings.Contains(lines[i], "initval")
		case drawn && isMember(lines, i):
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
	if lines[i] == "Members:\n" {
		return false
	}
	for ; i > 0 && strings.TrimSpace(lines[i]) != "" && !strings.HasPrefix(lines[i], "Name: "); i-- {
		if lines[i-1] == "Members:\n" || strings.HasPrefix(lines[i-1], "Number of entries: ") {
			return true
		}
	}
	return false
}

// setSize is what ipset prints of the size of a set.
var setSize = regexp.MustCompile(`(Size in memory: |<memsize>)([0-9]+)`)

// sharesBuckets says that two outputs are the same, but that the kernel gives less memory to sets with a drawn number.
func sharesBuckets(theirs, ours string) bool {
	if !strings.Contains(theirs, "initval") || setSize.ReplaceAllString(theirs, "") != setSize.ReplaceAllString(ours, "") {
		return false
	}
	sizes := setSize.FindAllStringSubmatch(ours, -1)
	for i, m := range setSize.FindAllStringSubmatch(theirs, -1) {
		less, _ := strconv.Atoi(m[2])
		more, _ := strconv.Atoi(sizes[i][2])
		if less > more {
			return false
		}
	}
	return true
}
