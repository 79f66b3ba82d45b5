// Package trial runs a case and judges all of it: a *scenarios.Scenario with
// actions but no expectations. After every sync, and between any
// two commands of a sync, it tries packets in the simulated world, and package oracle says
// what may happen to them.
//
// It stands between the world (scenarios/world/sim) and whoever makes cases (scenarios/search/gen, a
// person, a recorded cluster). It makes no cases itself, and decides nothing about
// packets: what is right is the oracle's. The same scenario gives the same report.
package trial
