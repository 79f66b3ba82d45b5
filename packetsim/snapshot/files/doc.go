// Package files makes a NodeSnapshot from the output of tools on a node: the files of support bundles.
//
// It stands beside snapshot.Take, which asks the machine itself. What a file holds is told by its text, not by its name: what iptables-save
// and its twins print; ip addr, link, route, rule and neigh and bridge fdb, as JSON (-j) and as text; sysctl -a; conntrack -L with and
// without -o extended; ipset save; nfacct list; of nft list ruleset what the chains of native tables can do to a packet, but not their
// rules. One file may hold what several of them printed. Names count only for the family of a text without addresses, and for empty files.
//
// Nothing is dropped silently: Unread of the snapshot has missing parts, and parts that are not understood, with the reason and the command
// that prints them. Files of other kinds are listed beside the snapshot.
//
// Refused are files of two nodes in one folder, and a folder without the devices of the node.
package files
