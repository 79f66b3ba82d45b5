// Package beside runs scenarios as package kind does, and adds to each probe the prediction of package predict from the snapshots of all
// nodes, taken before it.
//
// A prediction uses the names and addresses of the cluster, since rules and routes have these; reports use those of the scenario.
package beside
