// Package nftables runs the tool nft for the table of a proxy: it knows argv, stdin, exit status and the JSON of listings, and nothing of
// services.
//
// A Runner works on one address family. It gives nft whole transactions on its standard input, which the kernel takes as a whole or not at
// all, and asks only for its own table: nft 1.0.6 may not understand what newer tools have written into others
// (https://issue.k8s.io/136786).
package nftables
