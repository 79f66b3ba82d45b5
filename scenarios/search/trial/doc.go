// Package trial runs a case and judges all of it: a *scenarios.Scenario with
// actions but no expectations. After every sync, and between any
// two commands of a sync, it tries packets in the simulated world, and package oracle says
// what may happen to them.
//
// It stands between the world (scenarios/world/sim) and the makers of cases (scenarios/search/gen, a person, a recorded cluster). It makes
// no cases itself, and does not decide which fate of a packet is right: the oracle does. The same scenario gives the same report.
package trial
