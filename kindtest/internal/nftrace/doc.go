// Package nftrace reads what the nf_tables of the real kernel say of the packets that they trace, by netlink. It knows the messages; what a
// step is called in the words of the legacy tables is said by who knows the rules.
//
// Its Socket speaks with all of a namespace's netfilter, since the reports of NFLOG and the entries of conntrack come by the same messages.
// The traces of the legacy tables, which are lines of the kernel's log, are not its business. On other systems than Linux the package is
// empty.
package nftrace
