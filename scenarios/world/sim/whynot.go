package sim

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/explain/whynot"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

var _ scenarios.WhySession = (*World)(nil)

// WhyNot says why a first packet does not come to endpoints that it could have been expected to come to, by the objects that the API holds
// and by the rules of the node that first had it as one to a service.
func (w *World) WhyNot(objects []manifest.Object, book *names.Book) func([]scenarios.Way) whynot.Answer {
	cluster := w.plan.Oracle(objects)
	q := whynot.Question{Spec: oracle.New(cluster), Objects: objects, Book: book}
	return func(ways []scenarios.Way) whynot.Answer {
		return whynot.Along(passagesOf(ways), func(name string, in inet.Input, outcomes []packetsim.Outcome) (whynot.Answer, bool) {
			if w.Node(name) == nil {
				return whynot.Answer{}, false // a pod or a machine
			}
			q.Host, q.In, q.Outcomes, q.From = w.Host(name), in, outcomes, w.sender(name, &ways[0], &in)
			q.Newer = func(service string) string { return w.untold(name, service, cluster) }
			if q.From == "" {
				return whynot.Answer{}, false
			}
			return q.Answer()
		})
	}
}

func passagesOf(ways []scenarios.Way) [][]whynot.Passage {
	out := make([][]whynot.Passage, len(ways))
	for i := range ways {
		for k := range ways[i].Forward {
			hop := &ways[i].Forward[k]
			out[i] = append(out[i], whynot.Passage{Host: hop.Host, In: hop.Input, Outcome: hop.Walk})
		}
	}
	return out
}

// sender is who sent a packet that a node has: where its way begins, who is behind the device that it came by, or who has its source. It
// is empty if nobody is known who could have.
func (w *World) sender(node string, way *scenarios.Way, in *inet.Input) string {
	if first := way.Forward[0].Host; first != node || in.Local {
		return first
	}
	if pod := w.plan.Pods[network.Port{Host: node, Device: in.In}]; pod != "" {
		return pod
	}
	owner := w.cluster.Owner(in.Src)
	if owner != "" && owner != scenarios.RouterName {
		return owner
	}
	if outside := w.cluster.Outside; len(outside) > 0 {
		return outside[0].Name // whoever it is comes from there
	}
	return ""
}

// untold says whether the API holds a service otherwise than a node's proxier was told; empty if it does not.
func (w *World) untold(node, service string, now *oracle.Cluster) string {
	told := w.Knowledge(node)
	same := slices.EqualFunc(named(service, now.Services), named(service, told.Services), func(a, b *corev1.Service) bool {
		return equality.Semantic.DeepEqual(a.Spec, b.Spec) && equality.Semantic.DeepEqual(a.Status, b.Status)
	}) && slices.EqualFunc(slicesOf(service, now.Slices), slicesOf(service, told.Slices), func(a, b *discoveryv1.EndpointSlice) bool {
		return a.Name == b.Name && equality.Semantic.DeepEqual(a.Endpoints, b.Endpoints) && equality.Semantic.DeepEqual(a.Ports, b.Ports)
	})
	if same {
		return ""
	}
	return fmt.Sprintf("kube-proxy there did not get all changes of service %s: %s is held", service, node)
}

// named are the services of that NAMESPACE/NAME: one, or none.
func named(service string, all []*corev1.Service) []*corev1.Service {
	return slices.DeleteFunc(slices.Clone(all), func(s *corev1.Service) bool { return s.Namespace+"/"+s.Name != service })
}

// slicesOf are the endpoint slices of a service, by their names.
func slicesOf(service string, all []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	out := slices.DeleteFunc(slices.Clone(all), func(s *discoveryv1.EndpointSlice) bool {
		return s.Namespace+"/"+s.Labels[discoveryv1.LabelServiceName] != service
	})
	slices.SortFunc(out, func(a, b *discoveryv1.EndpointSlice) int { return strings.Compare(a.Name, b.Name) })
	return out
}
