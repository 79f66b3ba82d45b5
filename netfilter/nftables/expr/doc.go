// Package expr has the expressions of nf_tables: what a rule is made of in the kernel. Each loads something into a register, compares or
// changes what is there, or does something with the packet (net/netfilter/nft_*.c, include/uapi/linux/netfilter/nf_tables.h).
//
// They are values without behaviour. package fakenft makes them of what people write and reads them again, packetsim runs them, and
// package nftables keeps them.
package expr
