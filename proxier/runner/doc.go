// Package runner decides when a sync runs: soon after it was asked for, but
// not more often than allowed, again after a failure, and once in a while
// without being asked.
//
// It stands before the line of package proxier: events ask, Loop calls Sync.
// It runs any function. New refuses intervals that contradict each other.
package runner
