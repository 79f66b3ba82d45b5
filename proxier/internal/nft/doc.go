// Package nft writes the decisions of a model.Model as rules of nftables: one table for each address family, in which maps lead from
// addresses and ports to the chains of service ports. It decides nothing: whatever it writes follows from the Model and the Config.
//
// It stands between proxier/internal/model and proxier/nftables, behind the seam of package proxier, as package ipt does for iptables. The
// names of chains, sets and maps, the order of rules and their comments are those of kube-proxy v1.36, so that both programs leave the same
// rules on a node and either may take over from the other. Equal models give equal bytes.
package nft
