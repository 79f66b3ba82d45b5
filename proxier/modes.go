package proxier

import kubeproxy "k8s.io/kube-proxy/config/v1alpha1"

// Words of a kube-proxy configuration that its Go package has no names for.
const (
	modeIPTables    kubeproxy.ProxyMode = "iptables"
	modeIPVS        kubeproxy.ProxyMode = "ipvs"
	modeNFTables    kubeproxy.ProxyMode = "nftables"
	modeKernelspace kubeproxy.ProxyMode = "kernelspace"

	localByClusterCIDR         kubeproxy.LocalMode = "ClusterCIDR"
	localByBridgeInterface     kubeproxy.LocalMode = "BridgeInterface"
	localByInterfaceNamePrefix kubeproxy.LocalMode = "InterfaceNamePrefix"

	// LocalModeNodeCIDR is the mode for which the node's pod ranges must be known.
	LocalModeNodeCIDR kubeproxy.LocalMode = "NodeCIDR"

	// primaryAddresses in nodePortAddresses stands for the node's own.
	primaryAddresses = "primary"
)
