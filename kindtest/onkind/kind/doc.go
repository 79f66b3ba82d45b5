// Package kind is the scenarios backend on a running cluster: real nodes, real pods, a real API server, and whatever proxy the cluster has.
//
// A scenario keeps its names and addresses. A Mapping says which node, pod and address of the cluster stands for which of the scenario, one
// to one; objects, configurations and packets are mapped on the way in, and observations on the way out, so that expectations hold as they
// are written. A scenario that a cluster cannot run (it stops the clock, holds events back, makes tools fail) is refused before anything
// changes, with the reason (Unsupported).
//
// A session writes the scenario's objects to the API server and knows by a service of its own, the sentinel, when the proxies have seen
// them. The agents of package probe make the connections. Chance is counted. The fate of a packet without an answer is read from the
// packets that the nodes have seen. At the end, everything that a scenario made is removed.
//
// The package judges nothing: the runner of package scenarios does.
package kind
