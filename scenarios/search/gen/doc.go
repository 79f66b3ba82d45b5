// Package gen generates scenarios: clusters of every kind that an
// API server could hold, and sequences of events. It also shrinks a
// scenario that fails (Shrink).
//
// Its scenarios have actions only, no expectations: scenarios/search/trial runs them
// and judges the results by scenarios/spec/oracle. The same seed gives the same scenario.
// With package rapidgen, rapid searches for failures, and Go's coverage-guided fuzzing steers the draws.
//
// Each scenario leaves out features at random (swarm testing): a mixture of
// everything reaches less than many mixtures of a few things. The weights are such
// that what real clusters hold is common; histogram counts both for comparison.
//
// A generator's state is in parts: the cluster as it is after the steps so far, the
// numbers that were given out, and the course of the steps. Makers of services, slices and
// settings know the first two; kinds of events (of objects, nodes, pods, and faults) add
// to the course.
//
// Options add what the oracle leaves open, for the comparison with kube-proxy's own
// proxier (proxier/upstream), which asks no oracle.
//
// The generator makes no objects that no API server hands out, and no foreign rules that decide
// about packets in ways that scenarios/world/plan cannot tell the oracle.
package gen
