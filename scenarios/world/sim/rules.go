package sim

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/internal/logbook"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/api"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// RulesInput is what the rules of one node follow from.
type RulesInput struct {
	Objects       []manifest.Object
	Configuration *kubeproxyconfig.KubeProxyConfiguration
	// Node is the node that the rules are for. It need not be among Objects.
	Node    *corev1.Node
	Dialect netfilter.Dialect
	// Host is a node with rules already, over which the proxier writes its own. If it is nil, the kernel is a fresh one
	// of the Dialect, with the addresses of Node.
	Host *packetsim.Host
	// StartOnly says that the proxier starts, which removes what the other mode has left, and does not sync.
	StartOnly bool
	// Proxier is who writes the rules; nil: node.Chainwalk.
	Proxier node.Proxier
}

// NodeRules are the rules that a proxier has written.
type NodeRules struct {
	// Warnings say what in the configuration is likely to be a mistake.
	Warnings []string
	// Logged is what the proxier said, such as of addresses that it passes over, each line once.
	Logged []string
	// RestoreInputs are the inputs of iptables-restore and ip6tables-restore, in order.
	RestoreInputs [][]byte

	node *node.Node
}

// Rules syncs a proxier that has just started once.
func Rules(in RulesInput) (*NodeRules, error) {
	var log logbook.Book
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), log.Logger()))
	defer stop()
	clock := node.NewClock()
	kernel, err := kernelFor(in, clock)
	if err != nil {
		return nil, err
	}
	kube, err := api.New(ctx, append(slices.Clip(in.Objects), manifest.Object{Object: in.Node}), klog.FromContext(ctx))
	if err != nil {
		return nil, err
	}
	n := node.New(in.Node.Name, kernel, clock)
	n.KeepInputs()
	if in.Proxier != nil {
		n.RunBy(in.Proxier)
	}
	warnings, err := n.Start(ctx, kube, in.Configuration, in.Node)
	if err != nil {
		return nil, err
	}
	if !in.StartOnly {
		if err := n.Sync(); err != nil {
			return nil, err
		}
	}
	return &NodeRules{Warnings: warnings, Logged: log.Lines(), RestoreInputs: n.Inputs(), node: n}, nil
}

func kernelFor(in RulesInput, clock *clocktesting.FakeClock) (node.Kernel, error) {
	if in.Host == nil {
		return loneKernel(in, clock)
	}
	tools := fakekernel.Of(in.Host.Netfilter())
	if tools == nil {
		return node.Kernel{}, fmt.Errorf("node %s: the host has no netfilter", in.Node.Name)
	}
	return kernelOf(in.Host, tools), nil
}

// loneKernel is the kernel of a node without a network, with the addresses of its Node object.
func loneKernel(in RulesInput, clock *clocktesting.FakeClock) (node.Kernel, error) {
	tools := fakekernel.New(fakekernel.Options{Dialect: in.Dialect, Clock: clock})
	eth := packetsim.Device{Name: plan.Underlay, MTU: 1500, Up: true}
	for _, address := range in.Node.Status.Addresses {
		if a, err := netip.ParseAddr(address.Address); err == nil && address.Type != corev1.NodeHostName {
			eth.Addresses = append(eth.Addresses, packetsim.Address{Prefix: netip.PrefixFrom(a, a.BitLen())})
		}
	}
	host, err := packetsim.NewHost(packetsim.HostConfig{
		Name: in.Node.Name, Devices: []packetsim.Device{eth}, Netfilter: tools.Namespace(), Clock: clock,
	})
	if err != nil {
		return node.Kernel{}, fmt.Errorf("node %s: %w", in.Node.Name, err)
	}
	return kernelOf(host, tools), nil
}

// Save writes what iptables-save prints, for IPv6 ip6tables-save.
func (r *NodeRules) Save(family netfilter.Family, w io.Writer) error {
	name := tools.Name(scenarios.FamilyIPv4, "-save")
	if family == netfilter.IPv6 {
		name = tools.Name(scenarios.FamilyIPv6, "-save")
	}
	text, err := r.node.Run("", name)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}

// Listing writes what "nft list ruleset" prints of a family: of a kernel that had no rules, kube-proxy's table in mode nftables.
func (r *NodeRules) Listing(family netfilter.Family, w io.Writer) error {
	of := "ip"
	if family == netfilter.IPv6 {
		of = "ip6"
	}
	text, err := r.node.Run("", "nft", "list", "ruleset", of)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}
