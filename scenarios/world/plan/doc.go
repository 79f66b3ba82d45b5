// Package plan lays a scenario's network out: which hosts there are, with which
// devices, addresses, routes and kernel settings, and how they are joined.
//
// It stands between a scenarios.Cluster and the backends that build it: in memory
// and in network namespaces the same plan is built, so that both have the same
// names, addresses and ways. It makes nothing itself.
package plan
