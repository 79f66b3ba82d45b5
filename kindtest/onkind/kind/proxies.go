package kind

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	"k8s.io/utils/ptr"
)

// proxies are the proxies of the scenario's nodes, and what they are told beside objects.
type proxies struct {
	*stage
	kernels *kernels
	still   *still
	writer  *writer
	// local are, by node, the devices that stand for those that detectLocal names.
	local map[string]string
}

// prepareProxies gives the nodes their settings and their rules from before, and the proxies their configurations.
func (p *proxies) prepareProxies(ctx context.Context) error {
	if err := p.backend.use(ctx, p.used()); err != nil {
		return err
	}
	changed, err := p.kernels.prepare(ctx)
	if err != nil {
		return err
	}
	configs, err := p.configs(p.names())
	if err != nil {
		return err
	}
	first := p.backend.firsts(configs)
	begun := append(p.backend.others(configs), first...)
	if err := p.kernels.unroute(ctx, begun); err != nil {
		return err
	}
	if err := p.configure(ctx, configs, slices.Compact(slices.Sorted(slices.Values(append(changed, first...))))); err != nil {
		return err
	}
	return p.kernels.unguard(ctx, begun)
}

// configs are the configurations of nodes, by their names in the cluster.
func (p *proxies) configs(nodes []string) (map[string]*kubeproxyconfig.KubeProxyConfiguration, error) {
	byNode := map[string]*kubeproxyconfig.KubeProxyConfiguration{}
	for _, name := range nodes {
		config, err := p.mapping.config(name, p.cluster.Configs[name], p.local[name])
		if err != nil {
			return nil, err
		}
		byNode[p.mapping.Node(name)] = config
	}
	return byNode, nil
}

// configure gives proxies their configurations. Those that have them already are left alone, but for the nodes of the cluster whose
// proxies are to begin anew in any case.
func (p *proxies) configure(ctx context.Context, byNode map[string]*kubeproxyconfig.KubeProxyConfiguration, anew []string) error {
	begun := p.backend.others(byNode)
	if err := p.backend.configure(ctx, byNode); err != nil {
		return err
	}
	anew = slices.DeleteFunc(slices.Clone(anew), func(name string) bool { return slices.Contains(begun, name) })
	if len(anew) == 0 {
		return nil
	}
	return p.backend.hands.RestartProxy(ctx, anew)
}

// localDevices are, by node, the device that stands for the one that detectLocal names, where that is a pod's.
func (p *proxies) localDevices(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	for name, config := range p.cluster.Configs {
		for i := range p.cluster.Pods {
			pod := &p.cluster.Pods[i]
			if config.DetectLocal.BridgeInterface != fmt.Sprintf("veth%d", pod.Place) {
				continue
			}
			to, ok := p.mapping.Host(pod.Name)
			if !ok {
				continue
			}
			found, err := p.deviceTo(ctx, to.Machine, to.Addresses[0])
			if err != nil {
				return nil, err
			}
			out[name] = found
		}
	}
	return out, nil
}

// label gives a node the labels of its Node object.
func (p *proxies) label(ctx context.Context, node *corev1.Node) error {
	name := p.mapping.Node(node.Name)
	want := map[string]*string{corev1.LabelTopologyZone: nil}
	for key := range p.writer.labels[name] {
		want[key] = nil
	}
	for key, value := range node.Labels {
		if key != corev1.LabelHostname {
			want[key] = &value
		}
	}
	before, changed, err := p.writer.label(ctx, name, want)
	if err != nil || !changed {
		return err
	}
	zone := want[corev1.LabelTopologyZone]
	if zone != nil && before == *zone || zone == nil && before == "" {
		return nil
	}
	return p.still.zone(ctx, name, before, zone)
}

// Restart ends the proxies of nodes, and gives those another configuration that the scenario's cluster now has one for.
func (p *proxies) Restart(ctx context.Context, nodes []string) error {
	var err error
	if p.local, err = p.localDevices(ctx); err != nil {
		return err
	}
	anew := p.realNodes(nodes)
	configs, err := p.configs(nodes)
	if err != nil {
		return err
	}
	if err := p.still.goOn(ctx, anew); err != nil {
		return err
	}
	p.onUndo(func(context.Context) error { // what another configuration has left behind is the next scenario's to clear away
		for node := range configs {
			delete(p.backend.configured, node)
		}
		return nil
	})
	return p.configure(ctx, configs, anew)
}

// NotYet has the proxies of nodes write nothing of what comes, until a sync.
func (p *proxies) NotYet(ctx context.Context, nodes []string) error {
	return p.still.stop(ctx, p.realNodes(nodes))
}

// Hold has the proxies of nodes hear of nothing from here on. Those that did not, and are none of these, go on.
func (p *proxies) Hold(ctx context.Context, nodes []string) error {
	return p.still.hold(ctx, p.realNodes(nodes))
}

// syncInFull has the proxies of nodes write everything, as they do every hour. Their clocks cannot be moved, but another zone of
// a node makes its proxy do so as well.
func (p *proxies) syncInFull(ctx context.Context, nodes []string) error {
	for _, name := range nodes {
		node := p.mapping.Node(name)
		zone := ptr.To(otherZone)
		before, _, err := p.writer.label(ctx, node, map[string]*string{corev1.LabelTopologyZone: zone})
		if err == nil {
			err = p.still.zone(ctx, node, before, zone)
		}
		if err != nil {
			return err
		}
		var back *string
		if before != "" {
			back = &before
		}
		if _, _, err = p.writer.label(ctx, node, map[string]*string{corev1.LabelTopologyZone: back}); err == nil {
			err = p.still.zone(ctx, node, otherZone, back)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
