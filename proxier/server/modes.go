package server

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/iptables"
	"github.com/chainwalk/chainwalk/proxier/nftables"
)

// rulesOf returns the rules of a mode for each family that the host has tools for. The error says why a family is missing.
func (s *server) rulesOf(mode kubeproxy.ProxyMode) (rules map[v1.IPFamily]proxier.Rules, missing error) {
	rules = map[v1.IPFamily]proxier.Rules{}
	if mode == proxier.ModeNFTables {
		options := s.Host.NFTables
		options.Clock, options.Logger = s.clock, s.Logger
		tools, missing := nftables.NewDualStack(s.Host.Exec, options)
		for family, tool := range tools {
			rules[family] = proxier.NFTables{Tools: tool}
		}
		return rules, missing
	}
	options := s.Host.IPTables
	options.Clock, options.Logger = s.clock, s.Logger
	tools, missing := iptables.NewDualStack(s.Host.Exec, options)
	for protocol, tool := range tools {
		of := proxier.IPTables{Tools: tool}
		if s.Host.Counters != nil {
			of.Counters = s.Host.Counters
		}
		rules[v1.IPFamily(protocol)] = of
	}
	return rules, missing
}

// removeOtherModes removes what the other mode has left in the kernel, once the rules of this one are there: until then the old ones serve,
// and no connection is lost in between. kube-proxy removes them first. Where the other mode's tools are missing there is nothing to do.
func (s *server) removeOtherModes(family v1.IPFamily) {
	other := proxier.ModeNFTables
	if s.settings.Mode == proxier.ModeNFTables {
		other = proxier.ModeIPTables
	}
	rules, missing := s.rulesOf(other)
	if rules[family] == nil {
		s.Logger.V(2).Info("Rules of the other mode are not looked for", "family", family, "mode", other, "reason", fmt.Sprint(missing))
		return
	}
	proxier.Cleanup(s.Logger, rules[family])
}

// addFamily adds the proxier of a family, and tells it what is known of the ranges of cluster IPs.
func (s *server) addFamily(f *family) {
	s.cidrsLock.Lock()
	defer s.cidrsLock.Unlock()
	s.families = append(s.families, f)
	if s.cidrs != nil {
		f.proxier.OnServiceCIDRsChanged(s.cidrs)
	}
}

// OnServiceCIDRsChanged notes the ranges of cluster IPs. They may be known before the families are started.
func (s *server) OnServiceCIDRsChanged(cidrs []string) {
	s.Logger.Info("Cluster IPs come from these ranges", "serviceCIDRs", cidrs)
	s.cidrsLock.Lock()
	defer s.cidrsLock.Unlock()
	s.cidrs = cidrs
	for _, f := range s.families {
		f.proxier.OnServiceCIDRsChanged(cidrs)
	}
}
