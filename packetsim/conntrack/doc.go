// Package conntrack is the connection tracking of one network namespace, as Linux does it: the table of connections with their zones, what
// packets of TCP, UDP, SCTP, ICMP and the other protocols make of a connection, timeouts, the window of TCP, and the tuples that NAT binds
// new connections to. The kernel's sources that it follows are net/netfilter/nf_conntrack_*.c and net/netfilter/nf_nat_core.c.
//
// The package handles packets, but neither rules nor hooks: packetsim calls it at the hooks, and passes the translation of a rule. A
// Tracker is not safe for concurrent use; a packetsim.Host locks it. Every change made while a checkpoint is open can be undone.
package conntrack
