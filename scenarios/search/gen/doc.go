// Package gen makes scenarios that nobody wrote: clusters of every kind that an
// API server could hold, and sequences of what happens to them. It also makes a
// scenario that fails as small as it can be (Shrink).
//
// It stands before the judge: its scenarios hold actions only, no expectations.
// What must come of them is the matter of scenarios/spec/oracle, and who asks it is
// scenarios/search/trial. The draws are rapid's, so that rapid can look for failures too
// and Go's coverage-guided fuzzing can steer them; the same seed makes the same
// scenario.
//
// Each scenario leaves out features at random (swarm testing): a mixture of
// everything reaches less than many mixtures of a few things. The weights are such
// that what real clusters hold is common; Histogram counts both for comparison.
//
// A generator's state is in parts: the cluster as it is after the steps so far, the
// numbers that were given out, and the course of the steps. Makers of services, slices and
// settings know the first two; kinds of events (of objects, nodes, pods, and faults) add
// to the course.
//
// Options add what the oracle leaves open, for the comparison with kube-proxy's own
// proxier (proxier/upstream), which asks no oracle.
//
// Refused: objects that no API server hands out, and rules of others that decide
// about packets in ways that scenarios/world/plan cannot tell the oracle of.
package gen
