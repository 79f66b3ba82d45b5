// Package packetsim walks packets through a node's network stack as Linux does.
//
// It stands behind fakeipt on the project's line: fakeipt holds the rules as data, packetsim evaluates them. A
// Host is one network namespace. Its parts are devices with addresses, routing tables and policy
// rules, sysctls, the rulesets of both families, connection tracking and the lists
// of the recent match. Clock and chance are injected, so a walk is a function of its inputs.
//
// A packet that comes in takes this way:
//
//	PREROUTING            raw, conntrack, mangle, nat (DNAT)
//	routing               local, forward, or an error
//	  INPUT               mangle, filter, security, nat (SNAT), confirm
//	  FORWARD             mangle, filter, security
//	  POSTROUTING         mangle, nat (SNAT), confirm
//
// and a packet of the host itself this one:
//
//	routing               chooses device and source address
//	OUTPUT                raw, conntrack, mangle, nat (DNAT), filter, security
//	                      (routed again after mangle or nat changed it)
//	POSTROUTING           mangle, nat (SNAT), confirm
//	  PREROUTING, INPUT   on lo, if the destination is the host itself
//
// A packet that comes in by a port of a bridge passes PREROUTING, FORWARD and POSTROUTING with the bridge as its device, if
// br_netfilter is on; one that leaves by a VXLAN device is walked again from OUTPUT on as the packet that carries it.
//
// A walk is cut by what changes together: course (draws, what is told, the failure), matcher (the rule that is asked), tableWalk (place and
// stack in a table), targets, answers (packets made because of another), packetTracker (conntrack at the hooks), and walk, which is the
// host's stack. Packets are in package inet, connections in package conntrack.
//
// Large chains get an index of their rules by addresses, devices and ports after a few walks, kept until a commit changes the chain. The
// steps are those of a linear walk. Hosts of one kernel may walk in several goroutines while another commits.
//
// Walk gives every outcome of a packet with its probability and leaves the host as it was. Verdict and Verdicts do without steps. Step
// walks once and keeps what the packet does: conntrack entries, recent lists, counters. The kernel's sources that the package follows are
// net/ipv4/netfilter/ip_tables.c, net/netfilter/nf_conntrack_*.c, net/netfilter/nf_nat_core.c, net/ipv4/route.c and net/ipv4/fib_*.c
// and their IPv6 twins.
//
// What the host sends to a group or to all on a link it hears itself where it is one of them: a copy of the packet, among its Replies.
//
// Refused with an error that begins "not supported": matches and targets that have no file here, groups of which the host is not told
// whether a program has joined them (Device.Groups), and frames to a group or to all by a port of a bridge. A match that asks for
// something that the packet does not say is an error that names the field. Fragments (a packet that may be cut goes on whole), path
// MTUs that a host has learned, redirects, routing of groups (mc_forwarding), conntrack helpers, ICMP rate limits and VRFs are not
// imitated.
package packetsim
