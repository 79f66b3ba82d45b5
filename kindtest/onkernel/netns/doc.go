// Package netns is the scenarios backend on the real kernel of this machine: every
// node, pod, router and machine outside is a network namespace, joined by veths as
// package scenarios/world/plan lays out, and every node runs a whole proxier on the real
// iptables tools, legacy or nft.
//
// Connections are made by real TCP, UDP and ICMP sockets in the client's namespace
// to sockets that listen in the servers'. SCTP is spoken by raw sockets, since few
// kernels have SCTP sockets. What a packet met is seen by the kernel's own trace:
// an nftables table of its own in each namespace reports where a packet comes in,
// leaves and is delivered, and lets the node's tables trace the packet; the legacy
// tables report to NFLOG and the others to nfnetlink, namespace by namespace. The
// tables that kube-proxy writes stay as they are.
//
// The kernel chooses by chance, so a connection whose way meets such a rule is made
// many times and the ways are counted. A connection that is not kept is taken back:
// its conntrack entries and what it left in recent lists and in affinity sets of nftables
// are removed, and what it counted is left out of what Save and Accounting say.
//
// Pods that stop take their namespaces with them, and those that start get new ones. While
// somebody looks on within a sync the nodes sync one after the other.
//
// The clock of a kernel cannot be moved. Advance shortens the timeouts of conntrack
// entries and takes from recent lists and affinity sets the entries that are too old then.
//
// Several clusters may be there at once, since each has namespaces of its own. What they share is this process: a program that one of
// them starts has the descriptors of all for a moment, so that what a socket does is ended before it is closed (package socket).
//
// The namespaces have no names: they and all that is in them end with the process,
// however it ends. Linux only, as root; nft, iptables and nfacct must be installed.
package netns
