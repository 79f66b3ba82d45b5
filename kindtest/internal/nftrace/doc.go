// Package nftrace reads the traces of packets that nf_tables of the real kernel reports. It decodes the messages, which come through a
// socket of internal/nfnetlink. Callers, who have the rules, translate a step into the words of the legacy tables.
//
// The package does not read the traces of the legacy tables, which are reports of NFLOG. On systems other than Linux it is empty.
package nftrace
