package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/match"

// matchDevgroup is -m devgroup (net/netfilter/xt_devgroup.c). The kernel lets a rule ask only where there is the device.
func matchDevgroup(s *skb, m *match.Devgroup) bool {
	return (!m.HasSrc || inGroup(s.in, &m.Src)) && (!m.HasDst || inGroup(s.out, &m.Dst))
}

func inGroup(dev *device, m *match.GroupMatch) bool {
	return dev != nil && (dev.Group&m.Mask == m.Value) != m.Invert
}
