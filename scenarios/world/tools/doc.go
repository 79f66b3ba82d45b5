// Package tools runs a node's tools for the backends: it knows the names of the
// iptables tools, makes them fail as the real ones do (Faults), counts what restores are
// given, and reports every point between two commands of a sync (Watch).
//
// A tool fails with its own words: it is given what it refuses, or finds its lock taken.
// Searches in conntrack, for which a proxier runs no tool, fail with an error of their own.
package tools
