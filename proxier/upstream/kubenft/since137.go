//go:build !upstream_1_35 && !upstream_1_36

package kubenft

import (
	"context"
	"net"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/proxy/apis/config"
	"k8s.io/kubernetes/pkg/proxy/nftables"
)

func (c *Config) newProxier() (*nftables.Proxier, error) {
	bit := int32(c.MasqueradeBit)
	return nftables.NewProxier(context.Background(), &config.KubeProxyConfiguration{
		Linux:             config.KubeProxyLinuxConfiguration{MasqueradeAll: c.MasqueradeAll},
		NFTables:          config.KubeProxyNFTablesConfiguration{MasqueradeBit: &bit},
		NodePortAddresses: c.NodePortAddresses, SyncPeriod: metav1.Duration{Duration: c.SyncPeriod},
	}, c.Family, c.Detector, c.NodeName, net.IP(c.NodeIP.AsSlice()), nil, nil, false)
}
