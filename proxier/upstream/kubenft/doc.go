// Package kubenft sets up kube-proxy's own proxier of mode nftables, unmodified, over any k8s.io/utils/exec.Interface: the fake nft, the
// real one in a namespace, or both. kube-proxy itself takes the program nft from PATH, by knftables.
//
// With the feature gate NFTablesNetlink, which v1.37 has and which is on by default there, knftables lists the names of chains and sets by
// netlink, and does all else with the program. Netlink reaches the kernel of the process's network namespace and no fake, so tablesOf has all
// listed by the program, as v1.36 does. A kube-proxy that finds a fake nft on PATH by itself (New) needs
// --feature-gates=NFTablesNetlink=false: otherwise it never learns which chains went out of use.
package kubenft
