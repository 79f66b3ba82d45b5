// Package cause says what stopped a packet: one thing that somebody can fix, with a code, a sentence for people, and the command or field
// that fixes it.
//
// It reads what a walk or a connection through the network has told (packetsim.Outcome, network.Connection) and the snapshots of the nodes.
// It does not judge: package oracle says what should happen, and package live asks both. trace, why and doctor name causes only by this
// package, so that one fault has one name. docs/causes.md has a section for each code.
package cause
