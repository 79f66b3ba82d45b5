package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
)

// cluster is the objects of so many services.
type cluster struct {
	mode     cases.Mode
	services []*v1.Service
	slices   []*discovery.EndpointSlice
}

func newCluster(mode cases.Mode, size int) *cluster {
	c := &cluster{mode: mode}
	for i := range size {
		name := fmt.Sprintf("service-%05d", i)
		c.services = append(c.services, &v1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: v1.ServiceSpec{
				Type:       v1.ServiceTypeClusterIP,
				ClusterIP:  fmt.Sprintf("172.30.%d.%d", i>>8, i&255),
				ClusterIPs: []string{fmt.Sprintf("172.30.%d.%d", i>>8, i&255)},
				IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
				Ports:      []v1.ServicePort{{Name: "http", Port: 80, Protocol: v1.ProtocolTCP}},
			},
		})
		c.slices = append(c.slices, newSlice(name, i, endpointsEach))
	}
	return c
}

func newSlice(service string, number, endpoints int) *discovery.EndpointSlice {
	s := &discovery.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: service + "-1", Labels: map[string]string{discovery.LabelServiceName: service},
		},
		AddressType: discovery.AddressTypeIPv4,
		Ports:       []discovery.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](8080), Protocol: ptr.To(v1.ProtocolTCP)}},
	}
	for i := range endpoints {
		s.Endpoints = append(s.Endpoints, discovery.Endpoint{
			Addresses:  []string{fmt.Sprintf("10.%d.%d.%d", i+1, number>>8, number&255)},
			NodeName:   ptr.To("node-2"),
			Conditions: discovery.EndpointConditions{Ready: ptr.To(true)},
		})
	}
	return s
}

// side is one proxier that was given a cluster.
type side struct {
	name string
	peers.Measured
	sink *peers.Sink
}

// maker makes one of the proxiers.
type maker struct {
	name string
	make func(cases.Mode, *peers.Sink) (peers.Measured, error)
}

// makers are the makers of both.
func makers() (ours, theirs maker) {
	return maker{"ours", peers.MeasuredChainwalk}, maker{"kube-proxy", peers.MeasuredKubeProxy}
}

// deliver makes a proxier and tells it of all objects. It has not synced then.
func (c *cluster) deliver(m maker, saved []byte) (*side, error) {
	s := &side{name: m.name, sink: &peers.Sink{Saved: saved}}
	var err error
	if s.Measured, err = m.make(c.mode, s.sink); err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	for i := range c.services {
		s.OnServiceAdd(c.services[i])
		s.OnEndpointSliceAdd(c.slices[i])
	}
	return s, nil
}

// start is deliver and the first sync. In mode nftables nft lists afterwards what that has written.
func (c *cluster) start(m maker, saved []byte) (*side, error) {
	s, err := c.deliver(m, saved)
	if err != nil {
		return nil, err
	}
	if c.mode != cases.NFTables {
		return s, s.Start()
	}
	s.sink.Keep = true
	if err := s.Start(); err != nil {
		return nil, err
	}
	s.sink.Keep = false
	return s, s.sink.Hold()
}

// both starts both proxiers with the cluster. What a save prints is what kube-proxy has written in full, for both.
func (c *cluster) both() (ours, theirs *side, err error) {
	our, their := makers()
	if theirs, err = c.start(their, nil); err != nil {
		return nil, nil, err
	}
	if c.mode == cases.NFTables {
		ours, err = c.start(our, nil)
		return ours, theirs, err
	}
	theirs.sink.Keep = true
	if err = theirs.FullSync(true); err != nil {
		return nil, nil, err
	}
	theirs.sink.Keep = false
	ours, err = c.start(our, theirs.sink.Saved)
	return ours, theirs, err
}
