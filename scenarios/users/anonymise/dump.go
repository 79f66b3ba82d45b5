package anonymise

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance/hashed"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Dump is what is known of a cluster.
type Dump struct {
	Objects []manifest.Object
	Nodes   []Node
}

// Node is a node with its snapshot, or why it has none.
type Node struct {
	Name     string
	Snapshot *snapshot.NodeSnapshot
	// Why says why there is no snapshot.
	Why string
	// File is what errors call the snapshot.
	File string
}

// Of is another dump in the place of one, and what renamed it. The old one is not changed. The error names what of a snapshot may hold a
// name or an address that nobody can find in it, with its file and line.
func Of(key Key, old *Dump) (*Dump, *Renamer, error) {
	r, err := New(key, func(r *Renamer) error {
		_, err := r.dump(old)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	out, err := r.dump(old)
	return out, r, err
}

func (r *Renamer) dump(old *Dump) (*Dump, error) {
	out, objects, nodes := &Dump{}, objectRenamer{r}, nodeRenamer{r}
	var err error
	if err = r.hashes(old); err != nil {
		return nil, err
	}
	if out.Objects, err = objects.objects(old.Objects); err != nil {
		return nil, err
	}
	if assumed, err := objects.assumed(old.Objects, out.Objects); err != nil {
		return nil, err
	} else if assumed != nil {
		out.Objects = append(out.Objects, *assumed)
	}
	for _, node := range old.Nodes {
		other := Node{Name: r.Name("node", node.Name), Why: r.why(node.Why)}
		if node.Snapshot != nil {
			if other.Snapshot, err = nodes.snapshot(node.File, node.Snapshot); err != nil {
				return nil, err
			}
		}
		out.Nodes = append(out.Nodes, other)
	}
	slices.SortFunc(out.Nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// silent is the reason of a node whose kubelet is silent.
var silent = lazyregexp.New(`^its kubelet has been silent since (\S+) \(([A-Za-z]+)\)$`)

// why is why a node has no snapshot, if the reason is one that names nothing.
func (r *Renamer) why(old string) string {
	if old == "it runs windows" || old == "" {
		return old
	}
	if m := silent().FindStringSubmatch(old); m != nil {
		if at, err := time.Parse(time.RFC3339, m[1]); err == nil {
			return fmt.Sprintf("its kubelet has been silent since %s (%s)", r.when(at).Format(time.RFC3339), m[2])
		}
	}
	return leftOut
}

// hashes finds the chains that have hashes of what is renamed in their names: of the service ports and endpoints that the objects have, and
// of those that comments and translations of rules tell of.
func (r *Renamer) hashes(old *Dump) error {
	for _, s := range manifest.Of[*corev1.Service](old.Objects) {
		for i := range s.Spec.Ports {
			r.hashesOf(provenance.PortOf(s.Namespace, s.Name, s.Spec.Ports[i].Name), netip.AddrPort{})
		}
	}
	for _, s := range manifest.Of[*discoveryv1.EndpointSlice](old.Objects) {
		for _, p := range s.Ports {
			if p.Name == nil || p.Port == nil {
				continue
			}
			port := provenance.PortOf(s.Namespace, s.Labels[discoveryv1.LabelServiceName], *p.Name)
			for i := range s.Endpoints {
				for _, text := range s.Endpoints[i].Addresses {
					if a, ok := parse(text); ok {
						r.hashesOf(port, netip.AddrPortFrom(a, uint16(*p.Port)))
					}
				}
			}
		}
	}
	for i := range old.Nodes {
		if err := r.hashesIn(&old.Nodes[i]); err != nil {
			return err
		}
	}
	return nil
}

// hashesIn finds those that the rules of a node tell of.
func (r *Renamer) hashesIn(node *Node) error {
	if node.Snapshot == nil {
		return nil
	}
	rulesets, err := node.Snapshot.Rulesets()
	if err != nil {
		return fmt.Errorf("%s: %w", node.File, err)
	}
	for _, rules := range rulesets {
		for _, table := range rules.Tables {
			for chain := range table.Chains() {
				if !provenance.WriterOf(chain.Name).IsKubernetes() {
					continue
				}
				for _, f := range chain.Facts() {
					r.hashesOfRule(table.Name(), &chain, &f)
				}
			}
		}
	}
	return nil
}

func (r *Renamer) hashesOfRule(table string, chain *netfilter.Chain, f *netfilter.Fact) {
	if port := provenance.ServicePortOf(table, chain.Name, f); port != "" {
		r.hashesOf(port, provenance.EndpointOf(f))
	}
}

// hashesOf are the chains of a service port, or of an endpoint of it if that is valid. Which protocol they are of is seen by the names that
// there are.
func (r *Renamer) hashesOf(port provenance.ServicePort, at netip.AddrPort) {
	other := r.ServicePort(port)
	for _, protocol := range []string{"tcp", "udp", "sctp"} {
		if at.IsValid() {
			to, chain := netip.AddrPortFrom(r.Address(at.Addr()), at.Port()), hashed.EndpointChain(port, protocol, at)
			r.chains[chain] = hashed.EndpointChain(other, protocol, to)
			r.endpoints[chain] = endpoint{at.String(), to.String()}
			continue
		}
		others := hashed.ServiceChains(other, protocol)
		for i, chain := range hashed.ServiceChains(port, protocol) {
			r.chains[chain] = others[i]
		}
	}
}
