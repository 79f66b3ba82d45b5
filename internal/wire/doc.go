// Package wire has packets as bytes: what comparisons with the real kernel put on its devices and sockets, and read from there. It writes
// and reads headers; what becomes of a packet is the kernel's and packetsim's to say, so that none of the two is judged by it.
//
// Of what an inet.Packet has, its bytes hold the addresses, ports, TTL, TOS, TCP flags, numbers and options, the indexes of
// IPsec, SCTP chunks, ICMP types and what an ICMP error quotes. IP options and fragments are neither written nor told from whole packets.
package wire
