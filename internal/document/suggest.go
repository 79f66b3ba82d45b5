package document

import (
	"fmt"
	"strings"
)

// Suggest says which of the known words was probably meant, as the end of an
// error message.
func Suggest(name string, known []string) string {
	for _, n := range known {
		if strings.EqualFold(n, name) || len(name) > 2 && distance(strings.ToLower(n), strings.ToLower(name)) <= 2 {
			return fmt.Sprintf(" (did you mean %q?)", n)
		}
	}
	if len(known) > 0 && len(known) <= 16 {
		return fmt.Sprintf(" (known: %s)", strings.Join(known, ", "))
	}
	return ""
}

// distance is the number of letters to add, remove or change.
func distance(a, b string) int {
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return 3
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
