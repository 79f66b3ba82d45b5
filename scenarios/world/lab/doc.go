// Package lab rebuilds the network of a cluster from the NodeSnapshots of its nodes: each node has the devices, routes and rules
// that were found there, and around the nodes stand the pods, the machines outside and the router, as package plan lays them out.
//
// It stands beside package sim, which builds the same network with nodes of its own. It judges nothing: package live asks the oracle's
// questions of a lab, and kindtest/onkind/predict predicts what a real cluster's packets will do.
package lab
