// Package certificate checks what is said of all packets of two hosts, without trust in who says it. A certificate has both hosts as
// text, and boxes of packets with the fates that each host gives them. Check verifies that the boxes are disjoint and have all packets,
// that what a host asks of the packets of a box has one answer for all of them, and walks some packets of each box through both hosts.
//
// It shares nothing with package forall, which works fates out: it knows packetsim, which walks single packets, and reads by itself where
// the conditions of rules, sets and routes have their bounds. Where one of them cuts a box, it checks each part for itself.
//
// A certificate is about first packets of connections, each as the first one that a host sees: no connection is known, no list remembers
// a client, no limit is used up. What becomes of packets of an open box is not said.
package certificate
