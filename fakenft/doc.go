// Package fakenft is the tool nft of version 1.0.6 on the nf_tables of a network namespace (package netfilter/nftables): the same arguments
// and input give the same output, messages, exit status and tables as the real tool.
package fakenft
