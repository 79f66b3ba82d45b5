// Package certificate checks what is said of all packets of two hosts, without trust in who says it. A certificate has both hosts as
// text, and boxes of packets with the fates that each host gives them. Check verifies that the boxes are disjoint and have all packets,
// that what a host asks of the packets of a box has one answer for all of them, and walks some packets of each box through both hosts.
//
// It shares nothing with package forall, which works fates out: it knows packetsim, which walks single packets, and reads by itself where
// the conditions of rules, sets and routes have their bounds. Where one of them cuts a box, it checks each part for itself.
//
// A certificate is about packets of some classes, each as the first one that a host sees: no list remembers a client, no limit is used up.
// Of the class New no connection is known. Packets of the others are taken as of a connection that was there before, or of none, by
// packetsim.WalkOptions.State. What a class does not say of them, such as the mark and the status of a connection, must not matter in a
// box: who checks refuses to say anything of a rule that asks for it. What becomes of packets of an open box is not said.
package certificate
