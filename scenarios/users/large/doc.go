// Package large makes clusters of many services, sound ones and broken ones, to measure and to test the programs that look at running
// clusters. It gives the objects and what was found on each node, as operators have them; the rules are those that our proxier writes.
// The same numbers give the same cluster. It makes no cluster that looks like anybody's: every service has one port and as many endpoints
// as every other.
package large
