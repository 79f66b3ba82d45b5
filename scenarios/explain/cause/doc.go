// Package cause says what stopped a packet: one thing that somebody can fix, with a code, a sentence for people, and the command or field
// that fixes it.
//
// It reads what a walk or a connection through the network has told (packetsim.Outcome, network.Connection) and the snapshots of the nodes.
// It promises nothing and judges nothing: package oracle says what should happen, package live asks both. Trace, why and doctor name
// causes by this package alone, so that one fault has one name. docs/causes.md has a section for each code.
package cause
