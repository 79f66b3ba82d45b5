package judge

import (
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
)

// mostAffine bounds the services whose affinity is looked at after one sync.
const mostAffine = 3

// compareAffinity sends a first connection of each client to services with affinity, and compares where the second one may go.
// The hosts are new ones: what they remember must not last.
func (r *run) compareAffinity(family v1.IPFamily) (packets int, differences []*Difference, err error) {
	affine := r.affineDestinations(family)
	if len(affine) == 0 {
		return 0, nil, nil
	}
	if r.settings.Mode == cases.NFTables { // whose kernels remember
		defer forgetAffinity(r.ours, family)
		defer forgetAffinity(r.theirs, family)
	}
	ours, err := r.newHost(r.ours)
	if err != nil {
		return 0, nil, err
	}
	theirs, err := r.newHost(r.theirs)
	if err != nil {
		return 0, nil, err
	}
	for i, d := range affine {
		for j := range clients[family] {
			client := &clients[family][j]
			first, ok := client.packetTo(d)
			if !ok {
				continue
			}
			for _, host := range []*packetsim.Host{ours, theirs} {
				if _, err := host.Step(first, packetsim.SeededChance(uint64(i*len(clients[family])+j))); err != nil {
					return packets, differences, err
				}
			}
			second := first
			second.SrcPort++
			packets++
			if difference := comparePacket(ours, theirs, second, client.name+", after another connection"); difference != nil {
				differences = append(differences, difference)
			}
		}
	}
	return packets, differences, nil
}

// affineDestinations are the cluster addresses of the first services with affinity. Others may not claim them.
func (r *run) affineDestinations(family v1.IPFamily) []destination {
	_, claimed := destinationsOf(r.objects, family)
	var list []destination
	for _, service := range r.objects.SortedServices() {
		if service.Spec.SessionAffinity != v1.ServiceAffinityClientIP || len(service.Spec.Ports) == 0 || len(list) == mostAffine {
			continue
		}
		port := &service.Spec.Ports[0]
		for _, text := range service.Spec.ClusterIPs {
			d := destination{protocols[port.Protocol], parse(text), uint16(port.Port)}
			if d.addr.IsValid() && d.addr.Is6() == (family == v1.IPv6Protocol) && claimed[d] == 1 {
				list = append(list, d)
			}
		}
	}
	return list
}

// newHost is a host that remembers nothing, with a side's kernel and settings.
func (r *run) newHost(s side) (*packetsim.Host, error) {
	host, err := newHost(s.Peer)
	if err != nil {
		return nil, err
	}
	return host, setSysctls(host, s.Peer)
}

// setSysctls gives the settings that a proxier made to the host that packets walk through.
func setSysctls(host *packetsim.Host, peer peers.Peer) error {
	for name, value := range peer.Sysctls() {
		if err := host.SetSysctl(strings.ReplaceAll(name, "/", "."), strconv.Itoa(value)); err != nil {
			return err
		}
	}
	return nil
}
