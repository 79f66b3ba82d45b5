// Package cluster answers the playground's second and third tab: what kube-proxy writes for objects that were pasted and what becomes of
// connections through such a cluster, and what a scenario says when it is checked and run.
//
// It stands behind the simulated cluster (scenarios/world/sim) and what explains it.
package cluster
