//go:build upstream_1_35 || upstream_1_36

package kubenft

import (
	"context"
	"net"

	"k8s.io/kubernetes/pkg/proxy/nftables"
)

func (c *Config) newProxier() (*nftables.Proxier, error) {
	return nftables.NewProxier(context.Background(), c.Family, c.SyncPeriod, 0, c.MasqueradeAll, c.MasqueradeBit,
		c.Detector, c.NodeName, net.IP(c.NodeIP.AsSlice()), nil, nil, c.NodePortAddresses, false)
}
