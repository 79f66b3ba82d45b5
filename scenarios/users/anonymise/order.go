package anonymise

import (
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// inOrder has the rules for endpoints stand as kube-proxy would write them for the new addresses, where they stand so for the old ones: it
// sorts them by the texts of addresses. Each of them is chosen as often as before.
func (r *Renamer) inOrder(lines []fakekernel.Line) {
	for from := 0; from < len(lines); from++ {
		to := from
		for to < len(lines) && r.leadsToEndpoint(&lines[to]) && isNext(&lines[from], &lines[to]) {
			to++
		}
		if to > from+1 {
			r.sortEndpoints(lines[from:to])
			from = to - 1
		}
	}
}

// leadsToEndpoint says whether a line is a rule of a service port that leads to an endpoint whose address is known.
func (r *Renamer) leadsToEndpoint(l *fakekernel.Line) bool {
	if l.Fact == nil || !provenance.IsOfServicePort(l.Chain) || provenance.IsOfEndpoint(l.Chain) {
		return false
	}
	return r.endpoints[l.Fact.Jump].old != ""
}

// isNext says whether a line is of the same rules for endpoints as one before it: those of session affinity come first.
func isNext(first, l *fakekernel.Line) bool {
	return l.Table == first.Table && l.Chain == first.Chain && l.Fact.Remembers(netfilter.Recent) == first.Fact.Remembers(netfilter.Recent)
}

// sortEndpoints gives the rules of several endpoints the order of their new texts. What stays in its place is the chance of each.
func (r *Renamer) sortEndpoints(lines []fakekernel.Line) {
	old := slices.Clone(lines)
	text := func(l fakekernel.Line) string { return r.endpoints[l.Fact.Jump].old }
	if !slices.IsSortedFunc(old, func(a, b fakekernel.Line) int { return strings.Compare(text(a), text(b)) }) {
		return
	}
	sorted := slices.Clone(old)
	slices.SortStableFunc(sorted, func(a, b fakekernel.Line) int {
		return strings.Compare(r.endpoints[a.Fact.Jump].other, r.endpoints[b.Fact.Jump].other)
	})
	for i := range lines {
		is, was := sorted[i].Fact, old[i].Fact
		fact := *was
		fact.Jump, fact.Comment = is.Jump, is.Comment
		args := slices.Clone(old[i].Args)
		for k, word := range args {
			switch word {
			case was.Jump:
				args[k] = is.Jump
			case was.Comment:
				args[k] = is.Comment
			}
		}
		lines[i].Fact, lines[i].Args = &fact, args
	}
}
