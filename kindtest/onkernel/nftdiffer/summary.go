package nftdiffer

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Print says what the fake refused by name, how sessions differ, and what they asked about.
func (n *Numbers) Print(w io.Writer) {
	for _, what := range slices.Sorted(maps.Keys(n.Lacks)) {
		fmt.Fprintf(w, "  refused by name: %s, %d times\n", what, n.Lacks[what])
	}
	for _, kind := range slices.Sorted(maps.Keys(n.Kinds)) {
		fmt.Fprintf(w, "  %d times: %s\n", n.Kinds[kind], kind)
	}
	byKind := map[string][]string{}
	for _, asked := range slices.Sorted(maps.Keys(n.Asked)) {
		kind, what, _ := strings.Cut(asked, " ")
		byKind[kind] = append(byKind[kind], fmt.Sprintf("%s %d", what, n.Asked[asked]))
	}
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		fmt.Fprintf(w, "  asked about, %s (%d): %s\n", kind, len(byKind[kind]), strings.Join(byKind[kind], ", "))
	}
}
