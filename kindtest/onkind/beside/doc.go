// Package beside runs scenarios as package kind does, and puts beside each probe what package predict says of it from the snapshots of all
// nodes, taken before it.
//
// A prediction is made in the cluster's own names and addresses, since those are what rules and routes have; it is told in the scenario's.
package beside
