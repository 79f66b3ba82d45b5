// Package live looks at a running cluster from outside: from what kubectl prints of its
// objects, and from the NodeSnapshots of its nodes.
//
// It stands behind package scenarios and the oracle on the project's line. Scenario makes
// a scenario of the cluster, with the oracle's expectations filled in; Anonymise takes names
// and addresses away before. Examine asks the oracle what the objects promise for every packet
// class, walks each packet through the rules that the nodes really have, and says which
// service suffers, and which rules are missing, stale or foreign.
//
// It judges by what packets do, never by the text of rules: those of another proxier, or written by hand, are judged alike. Our own
// proxier's rules only serve to give a name to what is wrong. It names what the input does not show (a node without a snapshot), and does
// not guess. It changes nothing in any cluster.
package live
