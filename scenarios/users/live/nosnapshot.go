package live

import (
	"fmt"
	"slices"
	"strings"
)

// LacksSnapshot reports whether a node has no snapshot that was asked for one: of what it does nothing is known.
func (r *Report) LacksSnapshot() bool {
	return slices.ContainsFunc(r.Nodes, func(n NodeReport) bool { return n.Why != "" })
}

// withoutSnapshot begins the answer with the nodes that were asked for a snapshot and gave none, those with the same reason
// together; empty if all gave one.
func (r *Report) withoutSnapshot() string {
	var b strings.Builder
	p := printer{}
	for _, line := range nodesWithoutSnapshot(r.Nodes) {
		fmt.Fprintf(&b, "no snapshot of %s (%s); ", p.names(line.nodes), line.text)
	}
	return b.String()
}

// notesOnNoSnapshot say the same, a note for each reason.
func (e *exam) notesOnNoSnapshot() []string {
	var out []string
	p := printer{}
	for _, line := range nodesWithoutSnapshot(e.report.Nodes) {
		out = append(out, fmt.Sprintf("there is no snapshot of %s: %s", p.names(line.nodes), line.text))
	}
	return out
}

// nodesWithoutSnapshot are the nodes that gave no snapshot, by the reason.
func nodesWithoutSnapshot(nodes []NodeReport) []nodeLine {
	var out []nodeLine
	for i := range nodes {
		n := &nodes[i]
		if n.Why == "" {
			continue
		}
		at := slices.IndexFunc(out, func(l nodeLine) bool { return l.text == n.Why })
		if at < 0 {
			at, out = len(out), append(out, nodeLine{text: n.Why})
		}
		out[at].nodes = append(out[at].nodes, n.Name)
	}
	return out
}

// oneLine is a text of several lines as one.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
