package changes

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// start is when the trackers of the tests begin.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func nn(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

func portName(service, port string, protocol v1.Protocol) ServicePortName {
	return ServicePortName{NamespacedName: nn(service), Port: port, Protocol: protocol}
}

// makeService returns a Service with one cluster IP and the edits.
func makeService(name, clusterIP string, edits ...func(*v1.Service)) *v1.Service {
	service := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: v1.ServiceSpec{
			Type:            v1.ServiceTypeClusterIP,
			ClusterIP:       clusterIP,
			SessionAffinity: v1.ServiceAffinityNone,
		},
	}
	if clusterIP != "" && clusterIP != v1.ClusterIPNone {
		service.Spec.ClusterIPs = []string{clusterIP}
	}
	for _, edit := range edits {
		edit(service)
	}
	return service
}

// withPorts adds ports written as "name/protocol/port/nodePort".
func withPorts(texts ...string) func(*v1.Service) {
	return func(service *v1.Service) {
		for _, text := range texts {
			part := strings.Split(text, "/")
			service.Spec.Ports = append(service.Spec.Ports, v1.ServicePort{
				Name: part[0], Protocol: v1.Protocol(part[1]), Port: number(part[2]), NodePort: number(part[3]),
			})
		}
	}
}

func number(text string) int32 {
	var n int32
	if _, err := fmt.Sscan(text, &n); err != nil {
		panic(fmt.Sprintf("number %q in a test: %v", text, err))
	}
	return n
}

func withSpec(edit func(*v1.ServiceSpec)) func(*v1.Service) {
	return func(service *v1.Service) { edit(&service.Spec) }
}

// withIngress adds load balancer addresses, with "proxy:" in front for those
// that the balancer keeps to itself and "vip:" for an explicit VIP.
func withIngress(texts ...string) func(*v1.Service) {
	return func(service *v1.Service) {
		for _, text := range texts {
			ingress := v1.LoadBalancerIngress{IP: text}
			if ip, ok := strings.CutPrefix(text, "proxy:"); ok {
				ingress = v1.LoadBalancerIngress{IP: ip, IPMode: ptr.To(v1.LoadBalancerIPModeProxy)}
			}
			if ip, ok := strings.CutPrefix(text, "vip:"); ok {
				ingress = v1.LoadBalancerIngress{IP: ip, IPMode: ptr.To(v1.LoadBalancerIPModeVIP)}
			}
			service.Status.LoadBalancer.Ingress = append(service.Status.LoadBalancer.Ingress, ingress)
		}
	}
}

func addrs(texts ...string) []netip.Addr {
	var list []netip.Addr
	for _, text := range texts {
		list = append(list, netip.MustParseAddr(text))
	}
	return list
}

func prefixes(texts ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

// makeSlice returns a slice of a Service. Ports are written "name/protocol/port".
func makeSlice(service, name string, addressType discovery.AddressType, ports []string,
	endpoints ...discovery.Endpoint) *discovery.EndpointSlice {
	slice := &discovery.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name,
			Labels: map[string]string{discovery.LabelServiceName: service},
		},
		AddressType: addressType,
		Endpoints:   endpoints,
	}
	for _, text := range ports {
		part := strings.Split(text, "/")
		slice.Ports = append(slice.Ports, discovery.EndpointPort{
			Name: ptr.To(part[0]), Protocol: ptr.To(v1.Protocol(part[1])), Port: ptr.To(number(part[2])),
		})
	}
	return slice
}

// makeEndpoint returns an endpoint of a node, with words for its conditions and
// hints: "notready", "notserving", "terminating", "zone=Z", "node=N".
func makeEndpoint(addr, node string, words ...string) discovery.Endpoint {
	endpoint := discovery.Endpoint{Addresses: []string{addr}}
	if node != "" {
		endpoint.NodeName = ptr.To(node)
	}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		if (key == "zone" || key == "node") && endpoint.Hints == nil {
			endpoint.Hints = &discovery.EndpointHints{}
		}
		switch key {
		case "notready":
			endpoint.Conditions.Ready = ptr.To(false)
		case "notserving":
			endpoint.Conditions.Serving = ptr.To(false)
		case "terminating":
			endpoint.Conditions.Terminating = ptr.To(true)
		case "zone":
			endpoint.Hints.ForZones = append(endpoint.Hints.ForZones, discovery.ForZone{Name: value})
		case "node":
			endpoint.Hints.ForNodes = append(endpoint.Hints.ForNodes, discovery.ForNode{Name: value})
		default:
			panic(fmt.Sprintf("unknown word %q in a test", word))
		}
	}
	return endpoint
}

// describe writes an endpoint as "ip:port" and the words that apply to it.
func describe(e Endpoint) string {
	text := e.String()
	for _, word := range []struct {
		text string
		on   bool
	}{
		{"local", e.Local}, {"ready", e.Ready}, {"serving", e.Serving}, {"terminating", e.Terminating},
	} {
		if word.on {
			text += " " + word.text
		}
	}
	for _, zone := range e.ZoneHints {
		text += " zone=" + zone
	}
	for _, node := range e.NodeHints {
		text += " node=" + node
	}
	return text
}

// describeAll describes the endpoints of each port, by "service:port/PROTOCOL".
func describeAll(endpoints Endpoints) map[string][]string {
	all := map[string][]string{}
	for name, list := range endpoints {
		key := fmt.Sprintf("%s:%s/%s", name.NamespacedName.Name, name.Port, name.Protocol)
		for _, e := range list {
			all[key] = append(all[key], describe(e))
		}
	}
	return all
}
