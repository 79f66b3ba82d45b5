package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
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

func writeSummary(out io.Writer, hunts []hunt) {
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
	fmt.Fprintf(out, "%d faults, %d found, %d kept as files that fail with the fault and hold without\n", len(hunts), found, kept)
}

// page is docs/track-record.md.
func page(hunts []hunt, o options) []byte {
	var b bytes.Buffer
	b.WriteString(`# Track record

This page shows which known bugs of Kubernetes proxies ` + "`chainwalk fuzz`" + ` finds. Each bug is made again in chainwalk's own
proxier, one at a time, and the search is not told which. ` + "`make track-record RECORD=\"-seeds 5 -write\"`" + ` writes this page.
The package documentation of ` + "`scenarios/search/trackrecord`" + ` explains how a fault, which is a patch, is put in, and why no shipped binary contains one.

`)
	fmt.Fprintf(&b, "The search looked for each fault with %d seeds, one case after the other. Cases, and seconds of processor time, "+
		"are the median, and count\n"+
		"everything up to the first failing case. The file is the first failure, shrunk to what the failure\n"+
		"needs. It fails with the fault and passes without it, on every replay. Its steps are events and checks. It has more\n"+
		"than three steps if a fault affects only what existed before (a kept connection, a remembered client), or shows only after\n"+
		"something else failed, was noticed and was repaired.\n\n"+
		"kube-proxy v1.36.3 and v1.37.2 break some of these files themselves. [findings.md](findings.md#the-track-record) says which, "+
		"and why.\n\n", o.seeds)
	b.WriteString("| fault | issues | what is wrong | clauses that showed it | cases | seconds | Services | steps | file |\n" +
		"|---|---|---|---|---|---|---|---|---|\n")
	for i := range hunts {
		b.WriteString(hunts[i].row())
	}
	b.WriteString("\nA seed: `CHAINWALK_FAULT=NAME chainwalk fuzz --seed N --until-found` with a build of the overlay; " +
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
