package kind

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	netutils "k8s.io/utils/net"
)

// addressRange is the cluster's range for one of the scenario: one that holds the addresses for those that the scenario's range holds of
// its nodes, pods and machines, and none of the others. The error says that there is none.
func (m *Mapping) addressRange(p netip.Prefix) (netip.Prefix, error) {
	if p.IsSingleIP() {
		in := m.To(p.Addr())
		return netip.PrefixFrom(in, in.BitLen()), nil
	}
	members := m.members(p)
	for _, candidate := range m.candidates(p, members) {
		if m.fits(p, candidate) {
			m.ranges[candidate.Masked()] = p
			return candidate, nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("no range of the cluster holds what %s holds, and nothing else", p)
}

// known are the addresses of the scenario's nodes, pods and machines.
func (m *Mapping) known() []netip.Addr {
	var out []netip.Addr
	for i := range m.cluster.Nodes {
		out = append(append(out, m.cluster.Nodes[i].Addresses...), m.cluster.Nodes[i].ExtraAddresses...)
	}
	for i := range m.cluster.Pods {
		out = append(out, m.cluster.Pods[i].Addresses...)
	}
	for i := range m.cluster.Outside {
		out = append(out, m.cluster.Outside[i].Addresses...)
	}
	return out
}

func (m *Mapping) members(p netip.Prefix) []netip.Addr {
	return slices.DeleteFunc(m.known(), func(a netip.Addr) bool { return !p.Contains(a) })
}

// candidates are the ranges to look at: those that mean in the cluster what this one means in the scenario, the range itself, and the
// smallest one that holds its members.
func (m *Mapping) candidates(p netip.Prefix, members []netip.Addr) []netip.Prefix {
	v6 := p.Addr().Is6()
	var out []netip.Prefix
	var pods []netip.Addr // of all nodes
	covers := len(m.cluster.Nodes) > 0
	for i := range m.cluster.Nodes {
		n := &m.cluster.Nodes[i]
		in := rangeOf(m.facts.node(m.nodes[n.Name]).PodCIDRs, v6)
		cidr := rangeOf(n.PodCIDRs, v6)
		if cidr == p {
			out = append(out, in)
		}
		covers = covers && cidr.IsValid() && p.Overlaps(cidr) && p.Bits() <= cidr.Bits()
	}
	for i := range m.facts.Nodes {
		if in := rangeOf(m.facts.Nodes[i].PodCIDRs, v6); covers && in.IsValid() {
			pods = append(pods, in.Masked().Addr(), lastOf(in))
		}
	}
	if covers {
		out = append(out, cover(pods))
	}
	if slices.ContainsFunc(m.cluster.Underlay, func(u netip.Prefix) bool { return u.Overlaps(p) && p.Bits() <= u.Bits() }) {
		out = append(out, rangeOf(m.facts.Networks, v6))
	}
	out = append(out, p)
	var images []netip.Addr
	for _, a := range members {
		images = append(images, m.To(a))
	}
	if len(images) > 0 {
		out = append(out, cover(images))
	}
	return slices.DeleteFunc(out, func(c netip.Prefix) bool { return !c.IsValid() })
}

// fits reports whether a range of the cluster holds what one of the scenario holds.
func (m *Mapping) fits(p, candidate netip.Prefix) bool {
	if p.Bits() == 0 || p.Addr().IsLoopback() {
		return p == candidate
	}
	for _, a := range m.known() {
		if a.Is6() == p.Addr().Is6() && p.Contains(a) != candidate.Contains(m.To(a)) {
			return false
		}
	}
	return true
}

// cover is the smallest prefix that holds all addresses.
func cover(addresses []netip.Addr) netip.Prefix {
	if len(addresses) == 0 {
		return netip.Prefix{}
	}
	for bits := addresses[0].BitLen(); bits >= 0; bits-- {
		p := netip.PrefixFrom(addresses[0], bits).Masked()
		if !slices.ContainsFunc(addresses, func(a netip.Addr) bool { return !p.Contains(a) }) {
			return p
		}
	}
	return netip.Prefix{}
}

// lastOf is the last address of a range.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	last, _ := netip.AddrFromSlice(b)
	return last
}

// parseRange reads a range as Kubernetes does: with leading zeros, in decimal, and with bits beyond the prefix length. Another text is
// not valid.
func parseRange(text string) netip.Prefix {
	_, network, err := netutils.ParseCIDRSloppy(text)
	if err != nil {
		return netip.Prefix{}
	}
	ip, _ := netip.AddrFromSlice(network.IP)
	bits, _ := network.Mask.Size()
	return netip.PrefixFrom(ip.Unmap(), bits)
}

// rangeText maps a range as objects and configurations write it, blanks around it among them.
func (m *Mapping) rangeText(text string) (string, error) {
	bare := strings.TrimSpace(text)
	p := parseRange(bare)
	if !p.IsValid() {
		return text, nil // a word, or nothing that any proxy understands: it stays what it is
	}
	in, err := m.addressRange(p)
	if err != nil {
		return "", err
	}
	if in == p {
		return text, nil
	}
	return strings.Replace(text, bare, in.String(), 1), nil
}

// rangeOrAddresses maps a range of a list, where several may stand for it: each address that it holds, if there is no range that holds
// them and no others.
func (m *Mapping) rangeOrAddresses(text string) (out []string) {
	in, err := m.rangeText(text)
	if err == nil {
		return []string{in}
	}
	for _, a := range m.members(parseRange(strings.TrimSpace(text))) {
		in := m.To(a)
		out = append(out, netip.PrefixFrom(in, in.BitLen()).String())
	}
	return out
}
