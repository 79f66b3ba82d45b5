// Package whynot says why a packet does not reach a service's endpoints that a user could expect: because of the objects, by the
// specification, or because of a node's rules and its memory of connections. The caller has the node, the packet and its fate: package live
// for the nodes of a running cluster, package sim for the nodes of a scenario.
package whynot
