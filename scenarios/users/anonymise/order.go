package anonymise

import (
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// endpoints are the endpoints of the chains that have one in their names, by those names.
type endpoints map[string]endpoint

// endpoint is the address and port of the endpoint that a chain is of, and the other ones.
type endpoint struct{ old, other string }

// inOrder has the rules for endpoints stand as kube-proxy would write them for the new addresses, where they stand so for the old ones: it
// sorts them by the texts of addresses. Each of them is chosen as often as before.
func (e endpoints) inOrder(lines []fakekernel.Line) {
	for from := 0; from < len(lines); from++ {
		to := from
		for to < len(lines) && e.lead(&lines[to]) && isNext(&lines[from], &lines[to]) {
			to++
		}
		if to > from+1 {
			e.sort(lines[from:to])
			from = to - 1
		}
	}
}

// lead says whether a line is a rule of a service port that leads to an endpoint whose address is known.
func (e endpoints) lead(l *fakekernel.Line) bool {
	if l.Fact == nil || !provenance.IsOfServicePort(l.Chain) || provenance.IsOfEndpoint(l.Chain) {
		return false
	}
	return e[l.Fact.Jump].old != ""
}

// isNext says whether a line is of the same rules for endpoints as one before it: those of session affinity come first.
func isNext(first, l *fakekernel.Line) bool {
	return l.Table == first.Table && l.Chain == first.Chain && l.Fact.Remembers(netfilter.Recent) == first.Fact.Remembers(netfilter.Recent)
}

// sort gives the rules of several endpoints the order of their new texts. What stays in its place is the chance of each.
func (e endpoints) sort(lines []fakekernel.Line) {
	old := slices.Clone(lines)
	text := func(l fakekernel.Line) string { return e[l.Fact.Jump].old }
	if !slices.IsSortedFunc(old, func(a, b fakekernel.Line) int { return strings.Compare(text(a), text(b)) }) {
		return
	}
	sorted := slices.Clone(old)
	slices.SortStableFunc(sorted, func(a, b fakekernel.Line) int {
		return strings.Compare(e[a.Fact.Jump].other, e[b.Fact.Jump].other)
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
