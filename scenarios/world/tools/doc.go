// Package tools runs a node's tools for the backends: it has the names of the iptables tools, makes them fail as the real ones do (Faults),
// counts the input of restores, and reports every point between two commands of a sync (Watch).
//
// A tool fails with its own message: it gets input that it refuses, or finds its lock taken. Searches in conntrack, for which a proxier
// runs no tool, fail with an error of their own.
package tools
