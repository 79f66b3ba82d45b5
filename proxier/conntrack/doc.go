// Package conntrack removes connection tracking entries that keep UDP clients
// away from the endpoints that serve them now.
//
// A rule translates the first packet of a connection only; conntrack repeats that for all later ones. A TCP client notices that its server
// is gone and makes a new connection. A UDP client that goes on sending keeps its entry alive, and its packets are never translated again.
// So after the rules were written, Clean deletes the entries of UDP whose original destination is a service, if their replies would not
// come from a serving endpoint of it. That is so for entries to endpoints that are gone, also if they were the last ones
// (https://pr.k8s.io/139629) or the whole service is gone (https://pr.k8s.io/141371), and for entries that were made before there was a
// rule and hence not translated at all (https://issue.k8s.io/48370). Entries of other protocols and other ports are never touched.
//
// The package stands behind the line of package proxier and knows addresses
// and ports only. The entries are in a Table: Kernel is that of the network
// namespace, over netlink; another may imitate it.
package conntrack
