package sim

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/plan"
	"github.com/chainwalk/chainwalk/scenarios/tools"
)

const underlayName = "underlay"

// build makes the hosts of the plan and joins them.
func (s *session) build() error {
	s.network, s.plan = network.New(), plan.Of(s.cluster)
	for i := range s.plan.Hosts {
		if err := s.addHost(&s.plan.Hosts[i]); err != nil {
			return err
		}
	}
	for _, link := range s.plan.Links {
		if err := s.network.Link(link[0], link[1]); err != nil {
			return err
		}
	}
	if err := s.network.Segment(underlayName, s.plan.Segment...); err != nil {
		return err
	}
	return s.preload()
}

func (s *session) addHost(h *plan.Host) error {
	config := packetsim.HostConfig{Name: h.Name, Devices: h.Devices, Routes: h.Routes, PolicyRules: h.Rules, Sysctls: h.Sysctls, Clock: s.clock}
	if h.Node != nil {
		config.Netfilter = fakeipt.New(fakeipt.Options{Dialect: dialectOf(s.cluster.Tool), Clock: s.clock})
	}
	host, err := packetsim.NewHost(config)
	if err != nil {
		return err
	}
	if h.Node != nil {
		s.nodes[h.Name] = &node{name: h.Name, host: host, kernel: config.Netfilter, exec: &tools.Exec{Interface: config.Netfilter.Exec()}}
	}
	return s.network.AddHost(host, h.Listeners...)
}

func dialectOf(tool scenarios.Tool) fakeipt.Dialect {
	if tool == scenarios.ToolNFT {
		return fakeipt.NFT
	}
	return fakeipt.Legacy
}

// routeVia makes the router and the neighbours hand what nobody has to a node.
func (s *session) routeVia(via string) error {
	for _, h := range s.plan.Via(via) {
		if err := s.network.Host(h.Name).SetNetwork(h.Devices, h.Routes, h.Rules, false); err != nil {
			return err
		}
	}
	return nil
}

// preload restores the rules that are there before kube-proxy starts.
func (s *session) preload() error {
	for _, p := range s.cluster.Preload {
		for i := range s.cluster.Nodes {
			name := s.cluster.Nodes[i].Name
			if !p.IsFor(name) {
				continue
			}
			if _, err := s.nodes[name].run(p.Save, tools.Name(p.Family, "-restore"), "--noflush"); err != nil {
				return fmt.Errorf("%s: preload: %w", p.Pos, err)
			}
		}
	}
	return nil
}
