package nftdiffer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// summary says what was compared.
func (n *Numbers) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d sessions, %d runs (%d with an error): %d sessions differ, in %d ways\n", n.Sessions, n.Runs, n.Failing, n.Differ, len(n.Kinds))
	for _, what := range slices.Sorted(maps.Keys(n.Lacks)) {
		fmt.Fprintf(&b, "  refused by name: %s, %d times\n", what, n.Lacks[what])
	}
	for _, kind := range slices.Sorted(maps.Keys(n.Kinds)) {
		fmt.Fprintf(&b, "  %d times: %s\n", n.Kinds[kind], kind)
	}
	byKind := map[string][]string{}
	for _, asked := range slices.Sorted(maps.Keys(n.Asked)) {
		kind, what, _ := strings.Cut(asked, " ")
		byKind[kind] = append(byKind[kind], fmt.Sprintf("%s %d", what, n.Asked[asked]))
	}
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		fmt.Fprintf(&b, "  asked about, %s (%d): %s\n", kind, len(byKind[kind]), strings.Join(byKind[kind], ", "))
	}
	return b.String()
}
