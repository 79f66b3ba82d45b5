package proxier_test

import (
	"fmt"

	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/proxier"
)

func ExampleFromConfiguration() {
	configuration := &kubeproxy.KubeProxyConfiguration{
		ClusterCIDR:       "10.244.0.0/16,fd00:10:244::/56",
		NodePortAddresses: []string{"primary"},
	}
	settings, err := proxier.FromConfiguration(configuration, "here", nodeWith(nil, "192.168.0.2", "2001:db8::1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, config := range []proxier.Config{settings.IPv4, settings.IPv6} {
		fmt.Println(config.Family, config.NodeIP, config.MasqueradeBit, config.NodePortAddresses, config.LocalhostNodePorts)
	}
	// Output:
	// IPv4 192.168.0.2 14 [192.168.0.2/32 2001:db8::1/128] true
	// IPv6 2001:db8::1 14 [192.168.0.2/32 2001:db8::1/128] false
}
