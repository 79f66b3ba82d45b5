// Package whynot says why a packet does not come to the endpoints of a service that it could have been expected to come to: what the
// specification says of the objects, or what a node's rules and what it remembers make of them. Who asks has the node, the packet and what
// became of it: package live of the nodes of a running cluster, package sim of those of a scenario.
package whynot
