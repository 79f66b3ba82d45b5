// Package network joins hosts of packetsim by wires and follows packets, connections and flows from one to the next.
//
// It stands behind packetsim on the project's line. A packetsim.Host decides what one network namespace does with a packet; a Network
// carries the packets that leave it to the host at the other end. Hosts decide about chance and NAT; wires lose nothing. Send follows one
// packet, Connect a connection to its server and back. Establish keeps the connection, and the Flow sends its later packets. Send and
// Connect return the ways for every random choice and leave the hosts as they were.
//
// A connection counts as made only if the client gets its reply from the address that it called.
//
// Wires between missing devices, and connections that no socket can make, are errors. The ICMP error that a router sends when a
// neighbour does not answer is not imitated.
package network
