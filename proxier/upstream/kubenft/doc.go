// Package kubenft sets up kube-proxy's own proxier of mode nftables, unmodified, over any k8s.io/utils/exec.Interface: the fake nft, the real one
// in a namespace, or both. kube-proxy itself takes the program nft from PATH, by knftables.
//
// With the feature gate NFTablesNetlink, which kube-proxy has since v1.37 and which is off by default, knftables lists chains and sets by netlink and
// writes with the program all the same. Netlink reaches the kernel of the process's network namespace and no fake, so Tables never lists by netlink.
package kubenft
