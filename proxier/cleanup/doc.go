// Package cleanup removes the rules that a proxy has left in the kernel, this
// one or kube-proxy in mode iptables.
//
// It stands beside the line of package proxier, and takes from
// proxier/internal/render which chains are a proxy's, and the tools from
// proxier/iptables. Rules and chains of others stay, among them those of the
// kubelet (KUBE-FIREWALL, KUBE-MARK-DROP, KUBE-KUBELET-CANARY). Sysctls,
// conntrack entries and nfacct objects stay too: nobody knows what they were.
package cleanup
