package sim

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// StartPods adds pods to the cluster and to the network.
func (w *World) StartPods(_ context.Context, pods []scenarios.Pod) error {
	if err := w.cluster.StartPods(pods); err != nil {
		return err
	}
	return w.rebuild()
}

// StopPods takes pods from the cluster and from the network, with all that they remember.
func (w *World) StopPods(_ context.Context, names []string) error {
	if err := w.cluster.StopPods(names); err != nil {
		return err
	}
	return w.rebuild()
}

// SetAddresses gives a node other addresses. Connections that were masqueraded with an address that is gone are forgotten.
func (w *World) SetAddresses(_ context.Context, node string, addresses []netip.Addr) error {
	if err := w.cluster.SetAddresses(node, addresses); err != nil {
		return err
	}
	return w.rebuild()
}

// rebuild makes the network what the cluster is now.
func (w *World) rebuild() error {
	next := plan.Of(w.cluster)
	change := w.plan.ChangeTo(next)
	w.plan = next
	for _, name := range change.Removed {
		w.network.RemoveHost(name)
	}
	for i := range change.Changed {
		h := &change.Changed[i]
		if err := w.network.Host(h.Name).SetNetwork(h.Devices, h.Routes, h.Rules, false); err != nil {
			return err
		}
	}
	for i := range change.Added {
		if err := w.addHost(&change.Added[i], nil); err != nil {
			return err
		}
	}
	for _, link := range change.Links {
		if err := w.network.Link(link[0], link[1]); err != nil {
			return err
		}
	}
	return nil
}

// Conntrack are the connections that a node knows.
func (w *World) Conntrack(_ context.Context, node string) ([]scenarios.Tracked, error) {
	host := w.network.Host(node)
	if host == nil {
		return nil, fmt.Errorf("there is no node %s", node)
	}
	entries := host.Conntrack()
	out := make([]scenarios.Tracked, len(entries))
	for i := range entries {
		out[i] = trackedOf(&entries[i])
	}
	return out, nil
}

func trackedOf(e *conntrack.Entry) scenarios.Tracked {
	t := scenarios.Tracked{Proto: e.Original.Proto.String()}
	if e.Original.Proto.IsICMP() {
		t.Proto = "icmp"
	}
	port := func(p uint16) uint16 {
		if e.Original.Proto.HasPorts() {
			return p
		}
		return 0
	}
	t.Src = netip.AddrPortFrom(e.Original.Src, port(e.Original.SrcPort))
	t.Dst = netip.AddrPortFrom(e.Original.Dst, port(e.Original.DstPort))
	t.To = netip.AddrPortFrom(e.Reply.Src, port(e.Reply.SrcPort))
	t.From = netip.AddrPortFrom(e.Reply.Dst, port(e.Reply.DstPort))
	return t
}
