// Package mark counts how often each decision of the proxier is taken: a branch of the
// model, of the trackers, of what is rendered, of a sync and of the search in
// conntrack has a Mark, and tells its Recorder where it is taken.
//
// A run that judges the proxier asks which marks it has reached: a decision that
// nobody ever made it take was not tested, however green the run is. Which clauses of
// the specification exercise a mark is said where the clauses are known, not here:
// the proxier knows nothing of who judges it.
//
// Who judges hands a Recorder to the proxiers; without one, as in production, a Hit
// costs a comparison with nil, and nothing is counted anywhere.
//
// The package stands beside the line and imports nothing of it, and has no state of
// its own. A Hit that counts costs one atomic addition.
// Decisions that only an object takes which no API server would accept have no mark.
package mark
