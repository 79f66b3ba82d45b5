// Package mark counts how often each decision of the proxier is taken: a branch of the
// model, of the trackers, of what is rendered, of a sync and of the search in
// conntrack has a Mark, and tells its Recorder where it is taken.
//
// A run that judges the proxier asks which marks it has reached: a decision that was
// never taken was not tested, even if the run passes. Package oracle, and not this one, says which clauses of
// the specification exercise a mark: the proxier does not depend on its judges.
//
// A judge hands a Recorder to the proxiers. Without one, as in production, a Hit
// costs a comparison with nil, and nothing is counted.
//
// The package stands beside the line and imports nothing of it, and has no state of its own. A Hit that counts costs one atomic addition. A
// decision has no mark if only objects that no API server would accept lead to it.
package mark
