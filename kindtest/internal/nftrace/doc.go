// Package nftrace reads what the nf_tables of the real kernel say of the packets that they trace. It knows the messages, which come by a
// socket of internal/nfnetlink; what a step is called in the words of the legacy tables is said by who knows the rules.
//
// The traces of the legacy tables, which are reports of NFLOG, are not its business. On other systems than Linux the package is empty.
package nftrace
