// Package oracle is the Service API as an executable specification: for a state
// of a cluster and a packet it says what may happen to the packet, and which
// sentence of the API says so.
//
// It restates what the documentation of the API and its KEPs promise. It uses
// neither rules nor the proxier's model, so that it does not repeat a mistake made
// there.
//
// A Spec is made of a Cluster: what the API holds, what each node's proxier was told, and the network. Expect says what is allowed. Judge
// compares an observation with it, Between does so while a sync writes, Affinity and Flow over time. Attempts are the packets to ask about.
// Each Clause is one sentence; docs/specification.md has them all.
//
// It stands beside the line and imports nothing of it: the caller tries packets and
// passes the results as Ways. The package does not judge rules, or what services outside
// of the API do. Whatever the API leaves open is no violation.
package oracle
