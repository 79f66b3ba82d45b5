// Package report writes the pages of runs of scenarios and of searches: the verdicts, what failed with its way, and the files.
package report
