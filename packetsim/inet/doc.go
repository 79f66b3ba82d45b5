// Package inet has the packets of IPv4 and IPv6 as packetsim sees them: the header of an IP packet and of what it carries, what is known of
// the socket and the frame that it belongs to, its length and the account of its checksum, and the PACKET syntax, which people write and
// traces print.
//
// It knows of no host: what a kernel keeps beside a packet on its way is packetsim's.
package inet
