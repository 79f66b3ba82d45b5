// Package cluster answers the playground's second and third tab: the rules that kube-proxy writes for pasted objects, the fate of
// connections through such a cluster, and the mistakes and results of a scenario.
//
// It stands behind the simulated cluster (scenarios/world/sim) and the packages that explain it.
package cluster
