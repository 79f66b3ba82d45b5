// Package ctnetlink reads and writes the messages by which the kernel lists tracked connections, and by which they are made, changed
// and deleted. Types and numbers come from linux/netfilter/nfnetlink_conntrack.h.
//
// It only handles messages: callers own the socket, and decide what an entry means. The netlink library's own reader has
// no status bits, no SCTP state and no ICMP identifier, and allocates memory for each entry.
//
// Parse refuses an entry without addresses and protocol of both directions, and a number of a wrong size. It leaves out what an Entry has
// no field for (counters, helpers, labels).
//
// There is conntrack on Linux only: on other systems the package is empty.
package ctnetlink
