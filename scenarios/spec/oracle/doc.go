// Package oracle is the Service API as an executable specification: for a state
// of a cluster and a packet it says what may become of the packet, and which
// sentence of the API says so.
//
// It is written from the API's documentation and its KEPs, and restates what they
// promise. It knows nothing of rules, and not the proxier's model, so that a
// mistake there is not repeated here.
//
// A Spec is made of a Cluster: what the API holds, what each node's proxier was
// told, and the network. Expect says what is allowed, Judge holds to that what was
// seen, Between does so while a sync writes, Affinity and Flow over time. Attempts
// are the packets to ask about. Each Clause is one sentence; docs/specification.md
// has them all.
//
// It stands beside the line and imports nothing of it: whoever tries packets, in
// whichever way, brings what was seen as Ways. Refused is judging by rules, and
// what services that are not of the API do; of what the API leaves open nothing is
// a violation.
package oracle
