package proxier

import kubeproxy "k8s.io/kube-proxy/config/v1alpha1"

// Words of a kube-proxy configuration that its Go package has no names for.
const (
	modeIPTables    kubeproxy.ProxyMode = "iptables"
	modeIPVS        kubeproxy.ProxyMode = "ipvs"
	modeNFTables    kubeproxy.ProxyMode = "nftables"
	modeKernelspace kubeproxy.ProxyMode = "kernelspace"

	localByClusterCIDR         kubeproxy.LocalMode = "ClusterCIDR"
	localByNodeCIDR            kubeproxy.LocalMode = "NodeCIDR"
	localByBridgeInterface     kubeproxy.LocalMode = "BridgeInterface"
	localByInterfaceNamePrefix kubeproxy.LocalMode = "InterfaceNamePrefix"

	// primaryAddresses in nodePortAddresses stands for the node's own.
	primaryAddresses = "primary"
)
