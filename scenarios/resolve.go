package scenarios

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// resolver fills a Cluster in; what does not fit is noted with its position.
type resolver struct {
	cluster    Cluster
	controller manifest.NewSliceController // nil: slices of pods are left out
	errs       document.Errors
	names      map[string]bool
	owners     map[netip.Addr]string // who has an address; nil until somebody asks
	ownsPods   bool                  // the cluster's list of pods is no other's
}

// owner is Cluster.Owner of a cluster that grows.
func (r *resolver) owner(a netip.Addr) string {
	if r.owners == nil {
		r.owners = map[netip.Addr]string{}
		c := &r.cluster
		for i := range c.Nodes {
			r.note(c.Nodes[i].Name, c.Nodes[i].Addresses)
			r.note(c.Nodes[i].Name, c.Nodes[i].ExtraAddresses)
		}
		for i := range c.Pods {
			r.note(c.Pods[i].Name, c.Pods[i].Addresses)
		}
		for i := range c.Outside {
			r.note(c.Outside[i].Name, c.Outside[i].Addresses)
		}
		r.note(RouterName, c.Router)
	}
	return r.owners[a]
}

// note keeps who has addresses, unless somebody has them already.
func (r *resolver) note(name string, addresses []netip.Addr) {
	if r.owners == nil {
		return
	}
	for _, a := range addresses {
		if _, taken := r.owners[a]; !taken {
			r.owners[a] = name
		}
	}
}

func (r *resolver) errorf(pos document.Position, format string, args ...any) {
	r.errs = append(r.errs, &document.Error{Position: pos, Msg: fmt.Sprintf(format, args...)})
}

// Resolve fills in the cluster of a scenario, one of its own for each call: what Run builds, but for the variant of the tools. A scenario
// that was made in Go needs no positions; its objects are made with manifest.New. One that needs a controller has to have been read with it
// (Loader.Controller); ResolveWith has one for any.
func Resolve(s *Scenario) (*Cluster, error) { return ResolveWith(s, s.controller) }

// ResolveWith is Resolve, with the controller that makes the slices of a scenario's pods.
func ResolveWith(s *Scenario, controller manifest.NewSliceController) (*Cluster, error) {
	if controller == nil && s.needsController() {
		return nil, s.uncontrolled("nobody has given a controller")
	}
	c, errs := resolve(s, controller)
	return c, asError(errs)
}

// uncontrolled says that a scenario cannot be resolved without a controller.
func (s *Scenario) uncontrolled(why string) *document.Error {
	return &document.Error{Position: s.Pos, Msg: "services select pods, whose EndpointSlices a controller makes, and " + why +
		" (write the slices, or see scenarios.Loader.Controller)"}
}

// resolve fills in the topology of a scenario.
func resolve(s *Scenario, controller manifest.NewSliceController) (*Cluster, document.Errors) {
	r := resolver{names: map[string]bool{RouterName: true}, controller: controller}
	c := &r.cluster
	c.IPFamily, c.Preload, c.named = s.Topology.IPFamily, s.IPTables.Preload, s.dialectsNamed()
	if c.IPFamily == "" {
		c.IPFamily = FamilyIPv4
	}
	r.nodes(s.Topology.Nodes)
	r.underlay()
	r.owners = nil // nodes and routers have got their addresses
	r.pods(s.Topology.Pods)
	r.outside(s.Topology.Outside)
	r.podObjects(s)
	r.endpointPods(s)
	r.clients(s)
	r.configs(s.KubeProxy)
	c.ServiceIPs = serviceIPs(s)
	c.Flushed = slices.ContainsFunc(s.Steps, func(step Step) bool { return step.Fault != nil && step.Fault.Flushes() })
	return c, r.errs
}

// serviceIPs are the cluster IPs of the services in a scenario and its steps, each once.
func serviceIPs(s *Scenario) []netip.Addr {
	all := slices.Clone(s.Objects)
	for i := range s.Steps {
		all = append(all, s.Steps[i].Apply...)
	}
	var out []netip.Addr
	seen := map[netip.Addr]bool{}
	for _, o := range all {
		service, ok := o.Object.(*corev1.Service)
		if !ok {
			continue
		}
		for _, text := range service.Spec.ClusterIPs {
			if a, err := netip.ParseAddr(text); err == nil && !seen[a] {
				seen[a] = true
				out = append(out, a)
			}
		}
	}
	return out
}

func (r *resolver) take(pos document.Position, name string) {
	if r.names[name] {
		r.errorf(pos, "the name %q is taken (nodes, pods and machines outside share their names)", name)
	}
	r.names[name] = true
}

func (r *resolver) nodes(given Nodes) {
	if given == nil {
		given = make(Nodes, defaultNodes)
	}
	for i, node := range given {
		if node.Name == "" {
			node.Name = fmt.Sprintf("node%d", i+1)
		}
		r.take(node.Pos, node.Name)
		r.nodeAddresses(&node, i+1)
		r.cluster.Nodes = append(r.cluster.Nodes, node)
	}
}

func (r *resolver) pods(given []Pod) {
	for _, pod := range given {
		r.take(pod.Pos, pod.Name)
		node := r.cluster.Node(pod.Node)
		if node == nil {
			r.errorf(pod.Pos, "pod %s: there is no node %q%s", pod.Name, pod.Node, document.Suggest(pod.Node, r.cluster.nodeNames()))
			continue
		}
		if pod.Addresses == nil {
			for _, cidr := range node.PodCIDRs {
				pod.Addresses = append(pod.Addresses, offset(cidr.Masked().Addr(), firstPodAddress+r.cluster.podsEver))
			}
		}
		r.checkFamilies(pod.Pos, "addresses of pod "+pod.Name, pod.Addresses)
		r.checkFree(pod.Pos, pod.Addresses)
		r.addPod(pod)
	}
}

func (r *resolver) outside(given []Machine) {
	for _, m := range given {
		r.take(m.Pos, m.Name)
		r.checkFree(m.Pos, m.Addresses)
		for _, a := range m.Addresses {
			if !r.cluster.IPFamily.has(a) {
				r.errorf(m.Pos, "addresses of %s: %s is not of the cluster's family %s", m.Name, a, r.cluster.IPFamily)
			}
		}
		r.cluster.Outside = append(r.cluster.Outside, m)
		r.note(m.Name, m.Addresses)
	}
}
