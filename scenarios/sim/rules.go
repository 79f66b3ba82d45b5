package sim

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/manifest"
)

// RulesInput is what the rules of one node follow from.
type RulesInput struct {
	Objects       []manifest.Object
	Configuration *kubeproxyconfig.KubeProxyConfiguration
	// Node is the node that the rules are for. It need not be among Objects.
	Node    *corev1.Node
	Dialect fakeipt.Dialect
}

// NodeRules are the rules that a proxier has written on a fresh kernel.
type NodeRules struct {
	// Warnings say what in the configuration is likely to be a mistake.
	Warnings []string
	// RestoreInputs are the inputs of iptables-restore and ip6tables-restore, in order.
	RestoreInputs [][]byte

	node *node
}

// Rules syncs a proxier once on a fresh kernel.
func Rules(in RulesInput) (*NodeRules, error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	s := &session{clock: clocktesting.NewFakeClock(epoch()), client: fake.NewClientset()}
	n, err := s.loneNode(in)
	if err != nil {
		return nil, err
	}
	for _, o := range in.objects() {
		if err := s.client.Tracker().Add(o.DeepCopyObject()); err != nil {
			return nil, fmt.Errorf("take %s: %w", o.Ref(), err)
		}
	}
	if s.informers, err = config.Watch(ctx, s.client, config.Options{NodeName: in.Node.Name}); err != nil {
		return nil, err
	}
	var warnings []string
	if n.proxy, warnings, err = n.newProxy(in.Configuration, in.Node, s.clock); err != nil {
		return nil, err
	}
	if _, err := s.informers.AddConsumer(ctx, n.proxy); err != nil {
		return nil, err
	}
	if err := n.proxy.EnsureCanaries(); err != nil {
		return nil, err
	}
	n.exec.keepInputs = true
	if err := n.proxy.Sync(); err != nil {
		return nil, err
	}
	return &NodeRules{Warnings: warnings, RestoreInputs: n.exec.inputs, node: n}, nil
}

// objects are Objects with Node among them. Of several with one name the last counts, as if they were applied in order.
func (in RulesInput) objects() []manifest.Object {
	var objects []manifest.Object
	places := map[manifest.Ref]int{}
	for _, o := range append(slices.Clip(in.Objects), manifest.Object{Object: in.Node}) {
		ref := o.Ref()
		if _, ok := o.Object.(*corev1.Node); ok {
			ref = manifest.Ref{Kind: "Node", Name: o.Meta().GetName()} // Node may come without its kind
		}
		if place, ok := places[ref]; ok {
			objects[place] = o
			continue
		}
		places[ref] = len(objects)
		objects = append(objects, o)
	}
	return objects
}

// loneNode is a node without a network, with the addresses of its Node object.
func (s *session) loneNode(in RulesInput) (*node, error) {
	kernel := fakeipt.New(fakeipt.Options{Dialect: in.Dialect, Clock: s.clock})
	eth := device(underlayDevice)
	for _, address := range in.Node.Status.Addresses {
		if a, err := netip.ParseAddr(address.Address); err == nil && address.Type != corev1.NodeHostName {
			eth.Addresses = append(eth.Addresses, packetsim.Address{Prefix: single(a)})
		}
	}
	host, err := packetsim.NewHost(packetsim.HostConfig{
		Name: in.Node.Name, Devices: []packetsim.Device{eth}, Netfilter: kernel, Clock: s.clock,
	})
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", in.Node.Name, err)
	}
	return &node{name: in.Node.Name, host: host, kernel: kernel, exec: &faultyExec{Interface: kernel.Exec()}}, nil
}

// Save writes what iptables-save prints, for IPv6 ip6tables-save.
func (r *NodeRules) Save(family fakeipt.Family, w io.Writer) error {
	name := tool(scenarios.FamilyIPv4, "-save")
	if family == fakeipt.IPv6 {
		name = tool(scenarios.FamilyIPv6, "-save")
	}
	text, err := r.node.run("", name)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}
