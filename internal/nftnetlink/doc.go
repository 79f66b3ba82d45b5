// Package nftnetlink reads the nf_tables of one network namespace of the real kernel: tables, chains, rules, sets with their elements and
// named objects, in the types of package nftables. What it does not know of an expression it keeps as the bytes of its attributes. On
// systems other than Linux the package is empty.
package nftnetlink
