// Package fakenft is the tool nft of version 1.0.6 on the nf_tables of a network namespace (package netfilter/nftables): it reads what nft
// reads, says what nft says, and prints what nft prints.
package fakenft
