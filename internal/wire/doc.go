// Package wire writes packets as bytes and reads them, for comparisons that send and receive packets on the real kernel. It deals with
// headers only and decides nothing about a packet's fate, so it judges neither the kernel nor packetsim.
//
// Of what an inet.Packet has, its bytes hold the addresses, ports, TTL, TOS, TCP flags, numbers and options, the indexes of IPsec, SCTP
// chunks, ICMP types and what an ICMP error quotes. It writes no IP options and fragments, and does not tell fragments from whole packets.
package wire
