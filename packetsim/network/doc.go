// Package network joins hosts of packetsim by wires and follows packets, connections and flows from one to the next.
//
// It stands behind packetsim on the project's line: a packetsim.Host says what one network namespace does with a packet, a Network
// carries what it lets out to the host at the other end. What chance and NAT decide is decided by the hosts; wires lose nothing.
// Send follows one packet, Connect a connection to its server and back, Establish keeps it, and the Flow sends its later packets.
// Send and Connect give every way that chance can fall and leave the hosts as they were.
//
// A connection counts as made only if the client gets its reply from the address that it called.
//
// Refused are wires between what is not there and connections that no socket can ask for. The ICMP error that a router sends when a
// neighbour does not answer is not imitated.
package network
