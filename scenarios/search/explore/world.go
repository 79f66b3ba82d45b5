package explore

import (
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// The names of the small world.
const (
	nodeName   = "node1"
	clientPod  = "client"
	outside    = "outside"
	firstPod   = "server1"
	secondPod  = "server2"
	name       = "web"
	clientPort = 40000
	port       = 53
	nodePort   = 30053
	// pause is how long Time takes: more than the 30 seconds of a datagram without an answer, and twice is more than the 120
	// of one with.
	pause = 61 * time.Second
)

var (
	clusterIP = netip.MustParseAddr("172.30.0.10")
	outsideIP = netip.MustParseAddr("203.0.113.9")
	clientIP  = netip.MustParseAddr("10.244.1.10")
	firstIP   = netip.MustParseAddr("10.244.1.11")
	secondIP  = netip.MustParseAddr("10.244.1.12")
	nodeIP    = netip.MustParseAddr("192.168.0.11")
)

// small is the small world and all that can happen in it, made once.
type small struct {
	*exploration
	base          *scenarios.Scenario
	service       manifest.Object
	with, without manifest.Object // the slice with the first endpoint, and without
}

func (e *exploration) small() (*small, error) {
	w := &small{exploration: e}
	var err error
	if w.service, err = e.service(); err != nil {
		return nil, err
	}
	if w.with, err = e.slice(true); err != nil {
		return nil, err
	}
	if w.without, err = e.slice(false); err != nil {
		return nil, err
	}
	s := &scenarios.Scenario{
		Name: fmt.Sprintf("a %s flow to a %s of %d endpoints", e.protocol, e.path, e.endpoints),
		Topology: scenarios.Topology{
			Nodes:   scenarios.Nodes{{Name: nodeName, Addresses: []netip.Addr{nodeIP}}},
			Pods:    []scenarios.Pod{pod(clientPod, clientIP)},
			Outside: []scenarios.Machine{{Name: outside, Addresses: []netip.Addr{outsideIP}}},
		},
		IPTables: scenarios.IPTables{Dialects: []netfilter.Dialect{e.dialect}},
		Objects:  scenarios.Objects{w.service, w.with},
	}
	if e.mode != "" {
		if s.KubeProxy, err = scenarios.NewKubeProxy(map[string]any{"mode": string(e.mode)}); err != nil {
			return nil, err
		}
	}
	for i, name := range []string{firstPod, secondPod}[:e.endpoints] {
		s.Topology.Pods = append(s.Topology.Pods, pod(name, []netip.Addr{firstIP, secondIP}[i]))
	}
	w.base = s
	return w, nil
}

func pod(name string, address netip.Addr) scenarios.Pod {
	return scenarios.Pod{Name: name, Node: nodeName, Addresses: []netip.Addr{address}}
}

func (e *exploration) service() (manifest.Object, error) {
	s := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: clusterIP.String(),
			Ports: []corev1.ServicePort{{Protocol: e.protocol, Port: port, TargetPort: intstr.FromInt32(port)}},
		},
	}
	if e.path == byNodePort {
		s.Spec.Type, s.Spec.Ports[0].NodePort = corev1.ServiceTypeNodePort, nodePort
	}
	return manifest.New(s)
}

// slice has the first endpoint, if it is there, and the others.
func (e *exploration) slice(first bool) (manifest.Object, error) {
	number, protocol := int32(port), e.protocol
	s := &discoveryv1.EndpointSlice{
		TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name + "-1", Namespace: metav1.NamespaceDefault, Labels: map[string]string{discoveryv1.LabelServiceName: name},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Port: &number, Protocol: &protocol}},
	}
	for i, at := range []netip.Addr{firstIP, secondIP}[:e.endpoints] {
		if i > 0 || first {
			node := nodeName
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{at.String()}, NodeName: &node})
		}
	}
	return manifest.New(s)
}

// attempt is what the client sends, from a port.
func (e *exploration) attempt(from uint16) oracle.Attempt {
	if e.path == byNodePort {
		return oracle.Attempt{
			From: outside, Source: netip.AddrPortFrom(outsideIP, from), Protocol: e.protocol, To: netip.AddrPortFrom(nodeIP, nodePort),
			Via: nodeName,
		}
	}
	return oracle.Attempt{
		From: clientPod, Source: netip.AddrPortFrom(clientIP, from), Protocol: e.protocol, To: netip.AddrPortFrom(clusterIP, port), Via: nodeName,
	}
}

// step is what happens, as a scenario has it, if things are so then. What the client does is no part of it.
func (w *small) step(l letter, then state) scenarios.Step {
	var step scenarios.Step
	switch l {
	case answer:
		if then.silent {
			step.Stop = []string{firstPod}
		} else {
			step.Start = []scenarios.Pod{pod(firstPod, firstIP)}
		}
	case endpoint:
		step.Apply = scenarios.Objects{w.with}
		if then.endpointGone {
			step.Apply[0] = w.without
		}
	case service:
		if then.serviceGone {
			step.Delete = []scenarios.Ref{{Ref: w.service.Ref()}}
		} else {
			step.Apply = scenarios.Objects{w.service}
		}
	case restart, crash:
		step.Restart = &scenarios.NodeSet{All: true}
	case timePasses:
		step.Advance = &metav1.Duration{Duration: pause}
	}
	return step
}
