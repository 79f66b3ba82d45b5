// Package kind is the scenarios backend on a running cluster: real nodes, real pods, a real API server, and whatever proxy the cluster has.
//
// A scenario keeps its names and addresses. A Mapping says which node, pod and address of the cluster stands for which of the scenario, one
// to one; objects, configurations and packets are mapped on the way in, and what was seen on the way out, so that expectations hold as they
// are written. What a cluster cannot do (stop its clock, hold events back, make tools fail) is refused before anything is touched, with the
// reason (Unsupported).
//
// A session writes the scenario's objects to the API server and knows by a service of its own, the sentinel, when the proxies have seen
// them. Connections are made by the agents of package probe. Chance is counted. What became of a packet that nobody answered is read from
// the packets that the nodes have seen. All that a scenario makes is taken away at its end.
//
// The package judges nothing: the runner of package scenarios does.
package kind
