// Package inet has the packets of IPv4 and IPv6 for packetsim: the headers of an IP packet and its payload, its socket and frame as far as
// they are known, its length and whether its checksum is right, and the PACKET syntax, which people write and
// traces print.
//
// The package has no hosts. What a kernel keeps beside a packet on its way is in packetsim.
package inet
