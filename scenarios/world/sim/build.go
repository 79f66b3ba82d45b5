package sim

import (
	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

const underlayName = "underlay"

// build makes the hosts of the plan and joins them. It returns the nodes' kernels.
func (w *World) build() (map[string]node.Kernel, error) {
	kernels := map[string]node.Kernel{}
	for i := range w.plan.Hosts {
		h := &w.plan.Hosts[i]
		if err := w.addHost(h, kernels); err != nil {
			return nil, err
		}
	}
	return kernels, w.join()
}

func (w *World) addHost(h *plan.Host, kernels map[string]node.Kernel) error {
	config := packetsim.HostConfig{
		Name: h.Name, Devices: h.Devices, Routes: h.Routes, PolicyRules: h.Rules, Sysctls: h.Sysctls, Clock: w.clock,
	}
	lock := &fakekernel.Lock{}
	var tools *fakekernel.Kernel
	if h.Node != nil {
		tools = fakekernel.New(fakekernel.Options{
			Dialect: w.cluster.Dialect, Both: len(w.cluster.Dialects()) > 1, Clock: w.clock, Lock: lock,
		})
		config.Netfilter = tools.Namespace()
	}
	host, err := packetsim.NewHost(config)
	if err != nil {
		return err
	}
	if h.Node != nil {
		kernel := kernelOf(host, tools)
		if w.cluster.Dialect == netfilter.Legacy {
			kernel.HoldLock = lock.Hold
		}
		kernels[h.Name], w.kernels[h.Name] = kernel, tools
	}
	return w.network.AddHost(host, h.Listeners...)
}

// join makes the wires of the plan.
func (w *World) join() error {
	for _, link := range w.plan.Links {
		if err := w.network.Link(link[0], link[1]); err != nil {
			return err
		}
	}
	return w.network.Segment(underlayName, w.plan.Segment...)
}
