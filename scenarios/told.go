package scenarios

// Told is a check as a report tells of it: what the variants of the tools agree in once.
type Told struct {
	Check *Check // of the first variant
	Tools string // "legacy and -nft"
	// Ways are the places of those of the check's ways that are shown.
	Ways []int
}

// Told are the checks of each result, with the ways to show.
func (w Ways) Told(results []*Result) [][]Told {
	sample := sampleOf(results)
	out := make([][]Told, len(results))
	for i, r := range results {
		for _, g := range agreed(r.Checks) {
			told := Told{Check: g.check, Tools: g.tools}
			if w != WaysNone {
				told.Ways, _ = w.shows(g.check)
			}
			if w == WaysOne && g.check == sample.check && g.check.Passed {
				told.Ways = []int{sample.way}
			}
			out[i] = append(out[i], told)
		}
	}
	return out
}
