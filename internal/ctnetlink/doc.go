// Package ctnetlink reads and writes the messages by which the kernel lists tracked connections, and by which they are made, changed
// and deleted. Types and numbers are those of linux/netfilter/nfnetlink_conntrack.h.
//
// It knows messages only: the socket, and what an entry means, is the business of who uses it. The netlink library's own reader has
// no status bits, no SCTP state and no ICMP identifier, and allocates for each entry.
//
// Parse refuses an entry without addresses and protocol of both directions, and a number of a wrong size. What an Entry has no place
// for (counters, helpers, labels) is left out.
//
// There is conntrack on Linux only: on other systems the package is empty.
package ctnetlink
