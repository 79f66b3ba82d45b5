package live

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/users/anonymise"
)

// anonymised is the draft with other names and addresses, the same everywhere. Ports stay: what a service does depends on them, and they
// tell nothing that the kind of service does not.
func (d *draft) anonymised(key anonymise.Key) (*draft, error) {
	r, err := anonymise.New(key, func(r *anonymise.Renamer) error {
		_, err := d.renamed(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return d.renamed(r)
}

// renamed is a new draft with the names of a renamer.
func (d *draft) renamed(r *anonymise.Renamer) (*draft, error) {
	out := &draft{topology: d.topology, tools: d.tools}
	out.topology.Nodes, out.topology.Pods, out.topology.Outside = nil, nil, slices.Clone(d.topology.Outside)
	for i := range d.topology.Nodes {
		out.topology.Nodes = append(out.topology.Nodes, renamedNode(r, d.topology.Nodes[i]))
	}
	for _, p := range d.topology.Pods {
		p.Name, p.Node, p.Addresses = r.Name("pod", p.Node+"/"+p.Name), r.Name("node", p.Node), r.Addresses(p.Addresses)
		out.topology.Pods = append(out.topology.Pods, p)
	}
	for i := range out.topology.Outside {
		m := &out.topology.Outside[i]
		m.Addresses = r.Addresses(m.Addresses)
	}
	for _, o := range d.objects {
		var other runtime.Object
		switch o := o.Object.(type) {
		case *corev1.Service:
			other = r.Service(o)
		case *discoveryv1.EndpointSlice:
			other = r.Slice(o)
		}
		object, err := manifest.New(other)
		if err != nil {
			return nil, err
		}
		out.objects = append(out.objects, object)
	}
	if d.config != nil {
		out.config = pruneConfig(r.Config(d.config))
	}
	for name, config := range d.own {
		if out.own == nil {
			out.own = map[string]*kubeproxyconfig.KubeProxyConfiguration{}
		}
		out.own[r.Name("node", name)] = pruneConfig(r.Config(config))
	}
	for _, p := range d.preload {
		nodes := p.Nodes
		p.Nodes, p.of.renamer = nil, r
		for _, node := range nodes {
			p.Nodes = append(p.Nodes, r.Name("node", node))
		}
		var err error
		if p.Save, _, err = p.of.save(); err != nil {
			return nil, err
		}
		out.preload = append(out.preload, p)
	}
	return out, nil
}

func renamedNode(r *anonymise.Renamer, n scenarios.Node) scenarios.Node {
	n.Name, n.Zone = r.Name("node", n.Name), r.Name("zone", n.Zone)
	n.Addresses, n.ExtraAddresses = r.Addresses(n.Addresses), r.Addresses(n.ExtraAddresses)
	cidrs := []netip.Prefix{}
	for _, p := range n.PodCIDRs {
		cidrs = append(cidrs, r.Prefix(p))
	}
	n.PodCIDRs = cidrs
	return n
}
