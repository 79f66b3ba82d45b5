package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/trackrecord"
)

// sizeOf counts the Services and the steps of a scenario.
func sizeOf(s *scenarios.Scenario) (services, steps int) {
	names := map[string]bool{}
	count := func(list scenarios.Objects) {
		for _, o := range list {
			if service, ok := o.Object.(*corev1.Service); ok {
				names[service.Namespace+"/"+service.Name] = true
			}
		}
	}
	count(s.Objects)
	for i := range s.Steps {
		count(s.Steps[i].Apply)
	}
	return len(names), len(s.Steps)
}

// line says what came of a hunt, for people who wait.
func (h *hunt) line() string {
	cases, took := h.median()
	text := fmt.Sprintf("%-38s %5d cases %7.1f s  %s", h.fault.Name, cases, took.Seconds(), strings.Join(h.clauses(), ", "))
	for _, t := range h.trouble {
		text += fmt.Sprintf("\n    %v", t)
	}
	return text
}

// writeSummary says what came of all. If nobody looked for the faults, none could be found.
func writeSummary(out io.Writer, hunts []hunt, looked bool) {
	found, kept := 0, 0
	for i := range hunts {
		h := &hunts[i]
		if len(h.clauses()) > 0 {
			found++
		}
		if h.kept != "" {
			kept++
		}
		for _, t := range h.trouble {
			fmt.Fprintf(out, "%s: %v\n", h.fault.Name, t)
		}
	}
	if !looked {
		fmt.Fprintf(out, "%d faults, %d kept as files that fail with the fault and hold without\n", len(hunts), kept)
		return
	}
	fmt.Fprintf(out, "%d faults, %d found, %d kept as files that fail with the fault and hold without\n", len(hunts), found, kept)
}

// writePage writes docs/track-record.md. Faults that nobody looked for keep the line that they have.
func writePage(path string, hunts []hunt, seeds int) error {
	before, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if whole := len(hunts) == len(trackrecord.Faults()); !whole && !strings.Contains(string(before), seedsOf(seeds)) {
		return fmt.Errorf("%s: its lines are not of %s: look for all faults, or with as many seeds as it says", path, seedsOf(seeds))
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(before)) {
		if words := strings.SplitN(line, " ", 3); len(words) == 3 && words[0] == "|" {
			rows[words[1]] = line
		}
	}
	for i := range hunts {
		rows[hunts[i].fault.Name] = hunts[i].row()
	}
	return os.WriteFile(path, page(rows, seeds), 0o644)
}

func seedsOf(n int) string { return fmt.Sprintf("%d seeds", n) }

// page is docs/track-record.md with a line for each fault.
func page(rows map[string]string, seeds int) []byte {
	var b bytes.Buffer
	b.WriteString(`# Track record

This page shows which known bugs of Kubernetes proxies ` + "`chainwalk fuzz`" + ` finds. Each bug is made again in chainwalk's own
proxier, one at a time, and the search is not told which. ` + "`make track-record RECORD=\"-seeds 5 -write\"`" + ` writes this page.
The package documentation of ` + "`scenarios/search/trackrecord`" +
		` explains how a fault, which is a patch, is put in, and why no shipped binary contains one.

`)
	fmt.Fprintf(&b, "The search looked for each fault with %s, one case after the other. Cases, and seconds of processor time, "+
		"are the median, and count\n"+
		"everything up to the first failing case. The file is the first failure, shrunk to what the failure\n"+
		"needs. It fails with the fault and passes without it, on every replay. Its steps are events and checks. It has more\n"+
		"than three steps if a fault affects only what existed before (a kept connection, a remembered client), or shows only after\n"+
		"something else failed, was noticed and was repaired.\n\n"+
		"kube-proxy v1.36.3 and v1.37.2 break some of these files themselves. [findings.md](findings.md#the-track-record) says which, "+
		"and why.\n\n", seedsOf(seeds))
	const head = "| fault | issues | what is wrong | clauses that showed it | cases | seconds | Services | steps | file |\n" +
		"|---|---|---|---|---|---|---|---|---|\n"
	b.WriteString(head)
	mode := scenarios.Mode("")
	for _, f := range trackrecord.Faults() {
		if f.Mode != mode {
			mode = f.Mode
			fmt.Fprintf(&b, "\n## Mode %s\n\nThese faults are in the rules of mode %s. The search runs all nodes in that mode.\n\n%s",
				mode, mode, head)
		}
		b.WriteString(rows[f.Name])
	}
	b.WriteString("\nA seed: `CHAINWALK_FAULT=NAME chainwalk fuzz --mode MODE --seed N --until-found` with a build of the overlay; " +
		"the file: `chainwalk run FILE`.\n")
	b.WriteString("\n## Not made again\n\nThe faults come from the list of known bugs and have its numbers.\n\n" +
		"| number | why |\n|---|---|\n")
	reasons := trackrecord.NotMade()
	maps.DeleteFunc(reasons, func(_ int, why string) bool { return why == trackrecord.Absent })
	for _, bug := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(&b, "| %d | %s |\n", bug, reasons[bug])
	}
	return b.Bytes()
}

func (h *hunt) row() string {
	cases, took := h.median()
	issues := strings.Trim(references(&h.fault), " ()")
	size, path := "| ", "none"
	if h.kept != "" {
		size = fmt.Sprintf("%d | %d", h.services, h.steps)
		path = fmt.Sprintf("[%s](../%s)", filepath.Base(h.kept), filepath.ToSlash(h.kept))
	}
	found, seconds := "not found", ""
	if len(h.clauses()) > 0 {
		found = fmt.Sprint(cases)
		seconds = fmt.Sprintf("%.1f", took.Round(100*time.Millisecond).Seconds())
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s |\n",
		h.fault.Name, issues, h.fault.What, strings.Join(h.clauses(), ", "), found, seconds, size, path)
}
