package proxier

import kubeproxy "k8s.io/kube-proxy/config/v1alpha1"

// Words of a kube-proxy configuration that its Go package has no names for.
const (
	// ModeIPTables and ModeNFTables are the modes that are supported.
	ModeIPTables kubeproxy.ProxyMode = "iptables"
	ModeNFTables kubeproxy.ProxyMode = "nftables"

	modeIPVS        kubeproxy.ProxyMode = "ipvs"
	modeKernelspace kubeproxy.ProxyMode = "kernelspace"

	localByClusterCIDR         kubeproxy.LocalMode = "ClusterCIDR"
	localByBridgeInterface     kubeproxy.LocalMode = "BridgeInterface"
	localByInterfaceNamePrefix kubeproxy.LocalMode = "InterfaceNamePrefix"

	// LocalModeNodeCIDR is the mode for which the node's pod ranges must be known.
	LocalModeNodeCIDR kubeproxy.LocalMode = "NodeCIDR"

	// These words in nodePortAddresses stand for the node's own addresses, for its loopback addresses, and for every address. kube-proxy takes
	// the first alone up to v1.36, and all of them beside ranges and each other since kubernetes#138427.
	primaryAddresses   = "primary"
	localhostAddresses = "localhost"
	allAddresses       = "all"
)
