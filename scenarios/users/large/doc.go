// Package large makes clusters of many services, sound ones and broken ones, to measure and to test the programs that look at running
// clusters. It gives the objects and what was found on each node, as operators have them; our proxier writes the rules.
// The same numbers give the same cluster. Its clusters do not look like real ones: every service has one port and as many endpoints as
// every other.
package large
