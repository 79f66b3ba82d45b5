// Package files makes a NodeSnapshot of what tools have printed on a node: the files that people have in support bundles.
//
// It stands beside snapshot.Take, which asks the machine itself. What a file holds is told by its text, not by its name: what iptables-save
// and its twins print; ip addr, link, route, rule and neigh and bridge fdb, as JSON (-j) and as text; sysctl -a; conntrack -L with and
// without -o extended; ipset save; nfacct list; of nft list ruleset what the chains of native tables can do to a
// packet, but not their rules. One file may hold what several of them printed. Names only tell the family of what has no address in it, and
// what an empty file is.
//
// Nothing is dropped in silence: what is missing, and what is not understood, is in the snapshot's Unread with the reason and the command
// that would say it. Files in which there is nothing of this kind are listed beside the snapshot.
//
// Refused are files of two nodes in one folder, and a folder without the devices of the node.
package files
