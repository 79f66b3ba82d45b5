// Package predict predicts what the nodes of a real cluster will do with a packet, and compares what they did with the prediction.
//
// It takes the NodeSnapshots of all nodes at one moment (rules, addresses, routes, sysctls, connections), builds the hosts of package
// packetsim of them, joins them with the pods, the machines outside and the network between them (scenarios/world/lab), and walks the
// packet that is about to be sent: every way that it can take there and back, with its exact probability and the rules that it meets. The
// package does not read what a scenario expects. A prediction follows from the rules and settings on the nodes alone, whoever wrote them.
// So the expectation, the prediction and the observation are three independent results.
//
// Packets are walked through the rules of both variants of iptables where a node has both, in the order that its snapshot says. Where it
// does not say, and the two orders end otherwise, a prediction says what can happen, and not how often.
//
// Connections that nodes remember are part of a prediction, as they are part of what a kernel does: a later packet of a connection goes
// where the first one went. They are not in the way of new connections, since no two probes have the same port: where the client leaves
// its port to the kernel, the prediction takes one that no node remembers, and whoever sends from a port of its own choice more than once
// sees to it that nodes forget the connection in between. The lists of the match recent (session affinity) are not in a snapshot: a State
// has them beside it. Where it does not, a node remembers clients and a rule of the way asks for them, a prediction says what can happen,
// and not how often.
//
// What happened is judged as far as its two ends can know it: who answered at which address, and which client the server saw; refused, and
// with what; or nothing heard. Counts are held against probabilities by package internal/chance.
package predict
