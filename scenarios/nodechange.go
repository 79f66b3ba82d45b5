package scenarios

import (
	"context"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// NodeChange changes a Node object.
type NodeChange struct {
	document.Located
	Name   string             `json:"name" required:"true" doc:"The node."`
	Labels map[string]*string `json:"labels" doc:"Labels to set; null takes one away."`
	// Addresses replace those of the Node object and of eth0, but for extra ones.
	Addresses []netip.Addr `json:"addresses" doc:"The addresses of eth0 that the Node object names from here on, one for each family, in the networks that nodes had addresses in before."`
}

func (c *checker) nodeChange(s *Step) {
	change := s.Node
	c.nodes(change.Pos, []string{change.Name})
	if change.Labels == nil && change.Addresses == nil {
		c.errorf(change.Pos, "node: nothing changes (want labels or addresses)")
	}
	if c.cluster.Node(change.Name) != nil && change.Addresses != nil {
		c.errs = append(c.errs, c.cluster.setAddresses(change.Pos, change.Name, change.Addresses)...)
	}
}

// SetAddresses gives a node other addresses.
func (c *Cluster) SetAddresses(node string, addresses []netip.Addr) error {
	return asError(c.setAddresses(document.Position{}, node, addresses))
}

func (c *Cluster) setAddresses(pos document.Position, name string, addresses []netip.Addr) document.Errors {
	r := resolver{cluster: *c}
	r.checkFamilies(pos, "addresses of "+name, addresses)
	for _, a := range addresses {
		if !slices.Contains(c.Underlay, underlayOf(a)) {
			r.errorf(pos, "addresses of %s: %s is in no network of the nodes (%s)", name, a, listOf(c.Underlay, netip.Prefix.String))
		}
		if owner := c.Owner(a); owner != "" && owner != name {
			r.errorf(pos, "%s already has the address %s", owner, a)
		}
	}
	c.Nodes = slices.Clone(c.Nodes)
	c.Node(name).Addresses = addresses
	return r.errs
}

func (r *runner) changeNode(ctx context.Context, s *Step) error {
	change := s.Node
	node := r.objects.nodes[change.Name].DeepCopy()
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	for key, value := range change.Labels {
		if value == nil {
			delete(node.Labels, key)
		} else {
			node.Labels[key] = *value
		}
	}
	if change.Addresses != nil {
		node.Status.Addresses = internalAddresses(change.Addresses)
		if err := r.session.SetAddresses(ctx, change.Name, change.Addresses); err != nil {
			return err
		}
	}
	return r.applyObjects(ctx, []manifest.Object{{Object: node, Pos: change.Pos}})
}
