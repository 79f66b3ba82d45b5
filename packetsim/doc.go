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
// Base chains of nf_tables (families ip, ip6, inet) stand among these by their priorities, those of the type nat where NAT is. A rule's
// expressions become operations (nft_program.go) on registers (nft_registers.go), which know the bits of a packet that nobody knows;
// nft_run.go has the list of the expressions that are walked, and a packet that meets another one gets an ExpressionError.
//
// A packet that comes in by a port of a bridge passes PREROUTING, FORWARD and POSTROUTING with the bridge as its device, if
// br_netfilter is on; one that leaves by a VXLAN device is walked again from OUTPUT on as the packet that carries it.
//
// A walk has these parts: course (random draws, the trace, the failure), matcher (the rule that is evaluated), tableWalk (position and
// stack in a table), targets, answers (packets sent in reply to another), packetTracker (conntrack at the hooks), and walk, the
// host's stack. Packets are in package inet, connections in package conntrack.
//
// Large chains get an index of their rules by addresses, devices and ports after a few walks, kept until a commit changes the chain. The
// index does not change the steps. Hosts of one kernel may walk in several goroutines while another commits.
//
// Walk returns every outcome of a packet with its probability and leaves the host as it was. Verdict and Verdicts record no steps. Step
// walks once and keeps the packet's changes: conntrack entries, recent lists, counters. The package follows these kernel sources:
// net/ipv4/netfilter/ip_tables.c, net/netfilter/nf_conntrack_*.c, net/netfilter/nf_nat_core.c, net/ipv4/route.c and net/ipv4/fib_*.c
// and their IPv6 counterparts.
//
// A host that broadcasts, or sends to a group that it belongs to, receives a copy of the packet: one of its Replies.
//
// A walk ends with an error that begins "not supported" at matches and targets without a file here, at groups if the host does not know
// whether a program has joined them (Device.Groups), and at frames to a group or to all through a port of a bridge. If a match needs
// something that the packet does not state, the error names the field. Fragments (a packet that may be fragmented goes on whole), learned
// path MTUs, redirects, routing of groups (mc_forwarding), conntrack helpers, ICMP rate limits and VRFs are not imitated.
package packetsim
