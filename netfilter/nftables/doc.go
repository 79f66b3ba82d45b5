// Package nftables is the nf_tables of one network namespace: tables, chains, rules, sets, maps, elements and objects of all families, as
// the kernel holds them, and the transactions that change them (net/netfilter/nf_tables_api.c). It has no language: what a rule does is a
// list of expressions (package expr), and a refusal is an errno and the part of the request that it is about.
//
// The tool nft (package fakenft) and iptables-nft write into it; packetsim walks packets through it.
package nftables
