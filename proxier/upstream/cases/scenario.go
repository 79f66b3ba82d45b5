package cases

import (
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// ofScenario is what happens on the first node of a scenario.
func ofScenario(s *scenarios.Scenario) *Case {
	n := &firstNode{node: &s.Topology.Nodes[0], out: &Case{Settings: settingsOf(s)}}
	if n.node.Zone != "" {
		n.add(Step{Zone: &n.node.Zone})
	}
	n.apply(s.Objects)
	n.add(Step{Do: Sync})
	for i := range s.Steps {
		n.step(&s.Steps[i])
	}
	return n.out
}

// settingsOf are the settings of the first node's kube-proxy and kernel.
func settingsOf(s *scenarios.Scenario) Settings {
	var config kubeproxyconfig.KubeProxyConfiguration
	unset := "unset"
	config.ClusterCIDR = unset
	s.KubeProxy.Over(&config)
	bit, liberal := int32(14), 0
	if config.IPTables.MasqueradeBit != nil {
		bit = *config.IPTables.MasqueradeBit
	}
	if text, ok := s.Topology.Nodes[0].Sysctls["net.netfilter.nf_conntrack_tcp_be_liberal"]; ok {
		liberal, _ = strconv.Atoi(text)
	}
	out := Settings{
		Dialect: "legacy", Detect: "cidr",
		MasqueradeAll: config.IPTables.MasqueradeAll, MasqueradeBit: int(bit),
		LocalhostNodePorts: config.IPTables.LocalhostNodePorts == nil || *config.IPTables.LocalhostNodePorts,
		NodePortAddresses:  config.NodePortAddresses, TCPLiberal: &liberal,
	}
	if slices.Contains(s.IPTables.Dialects, netfilter.NFT) {
		out.Dialect = "nft"
	}
	if slices.Equal(out.NodePortAddresses, []string{"primary"}) {
		out.NodePortAddresses = []string{"192.168.0.2/32", "2001:db8::2/128"}
	}
	switch mode := config.DetectLocalMode; {
	case mode == "BridgeInterface":
		out.Detect = "bridge"
	case mode == "InterfaceNamePrefix":
		out.Detect = "prefix"
	case mode == "" && config.ClusterCIDR != unset:
		out.Detect = "none"
	}
	return out
}

// firstNode sees what happens.
type firstNode struct {
	node *scenarios.Node
	out  *Case
}

func (n *firstNode) add(steps ...Step) { n.out.Steps = append(n.out.Steps, steps...) }

func (n *firstNode) apply(objects []manifest.Object) {
	for _, o := range objects {
		switch o := o.Object.(type) {
		case *v1.Service:
			n.add(Step{Service: o})
		case *discovery.EndpointSlice:
			n.add(Step{Slice: o})
		}
	}
}

// step adds what a step does that a case has something for.
func (n *firstNode) step(s *scenarios.Step) {
	n.apply(s.Apply)
	for _, ref := range s.Delete {
		switch name := ref.Namespace + "/" + ref.Name; ref.Kind {
		case "Service":
			n.add(Step{DeleteService: name})
		case "EndpointSlice":
			n.add(Step{DeleteSlice: name})
		}
	}
	if s.Node != nil && s.Node.Name == n.node.Name {
		if zone, ok := s.Node.Labels[v1.LabelTopologyZone]; ok {
			if zone == nil {
				zone = new(string)
			}
			n.add(Step{Zone: zone})
		}
	}
	if s.Advance != nil && s.Advance.Duration >= time.Hour {
		n.add(Step{Do: Hour})
	}
	if s.Fault != nil && (s.Fault.Node == "" || s.Fault.Node == n.node.Name) {
		switch {
		case len(s.Fault.Flush) > 0 || len(s.Fault.Run) > 0:
			n.add(Step{Do: Flush})
		case s.Fault.RestoreFails > 0:
			n.add(Step{Do: Fail})
		}
	}
	if s.Sync == nil && s.Fault == nil || s.Sync != nil && (s.Sync.All || slices.Contains(s.Sync.Names, n.node.Name)) {
		n.add(Step{Do: Sync})
	}
}
