package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// report prints the table of packages and the failures, and says whether there are any.
func (r *rounds) report(out io.Writer) (failed bool) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "runs\tfailed\tmean time\t  package")
	for _, p := range r.packages {
		result := r.results[p]
		mean := result.took / time.Duration(max(result.runs, 1))
		fmt.Fprintf(table, "%d\t%d\t%s\t  %s\n", result.runs, result.failed, mean.Round(10*time.Millisecond), p.ImportPath)
		failed = failed || result.failed > 0
	}
	_ = table.Flush() // a terminal: nobody is left to be told
	for _, p := range r.packages {
		result := r.results[p]
		for _, name := range slices.Sorted(maps.Keys(result.failures)) {
			failure := result.failures[name]
			fmt.Fprintf(out, "\n%s %s failed in %d of %d runs, at first with %s\n",
				p.ImportPath, name, failure.times, result.runs, strings.TrimRight(failure.first, "\n"))
		}
	}
	return failed
}
