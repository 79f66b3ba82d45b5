package sim

import (
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/node"
)

const underlayName = "underlay"

// build makes the hosts of the plan and joins them. It returns the nodes' kernels.
func (s *session) build(tool scenarios.Tool, clock *clocktesting.FakeClock) (map[string]node.Kernel, error) {
	kernels := map[string]node.Kernel{}
	for i := range s.plan.Hosts {
		h := &s.plan.Hosts[i]
		config := packetsim.HostConfig{
			Name: h.Name, Devices: h.Devices, Routes: h.Routes, PolicyRules: h.Rules, Sysctls: h.Sysctls, Clock: clock,
		}
		if h.Node != nil {
			config.Netfilter = fakeipt.New(fakeipt.Options{Dialect: tool.Dialect(), Clock: clock})
		}
		host, err := packetsim.NewHost(config)
		if err != nil {
			return nil, err
		}
		if h.Node != nil {
			kernels[h.Name] = kernelOf(host, config.Netfilter)
		}
		if err := s.network.AddHost(host, h.Listeners...); err != nil {
			return nil, err
		}
	}
	return kernels, s.join()
}

// join makes the wires of the plan.
func (s *session) join() error {
	for _, link := range s.plan.Links {
		if err := s.network.Link(link[0], link[1]); err != nil {
			return err
		}
	}
	return s.network.Segment(underlayName, s.plan.Segment...)
}
