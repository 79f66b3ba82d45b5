// Package shrink makes a case that shows a difference smaller, as long as the
// difference stays: fewer steps, plainer settings, smaller objects.
package shrink

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/internal/ddmin"
	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
)

// Case returns the smallest case found that still fails, after trying so many at most.
func Case(c *cases.Case, tries int, fails func(*cases.Case) bool) *cases.Case {
	s := &shrinking{best: c, tries: tries, fails: fails}
	for before := -1; before != s.found && s.tries > 0; {
		before = s.found
		s.steps()
		s.settings()
		s.objects()
	}
	return s.best
}

type shrinking struct {
	best  *cases.Case
	tries int
	found int
	fails func(*cases.Case) bool
}

// try keeps a case that still fails.
func (s *shrinking) try(c *cases.Case) bool {
	if s.tries <= 0 {
		return false
	}
	s.tries--
	if !s.fails(c) {
		return false
	}
	s.best = c
	s.found++
	return true
}

// steps drops steps, many at once first.
func (s *shrinking) steps() {
	ddmin.List(len(s.best.Steps), func(at, size int) bool {
		c := *s.best
		c.Steps = slices.Delete(slices.Clone(c.Steps), at, at+size)
		return s.try(&c)
	})
}

// settings makes each setting the plainest one.
func (s *shrinking) settings() {
	for _, simpler := range []func(*cases.Settings){
		func(t *cases.Settings) { t.Dialect = "legacy" },
		func(t *cases.Settings) { t.Detect = "none" },
		func(t *cases.Settings) { t.MasqueradeAll = false },
		func(t *cases.Settings) { t.MasqueradeBit = 14 },
		func(t *cases.Settings) { t.LocalhostNodePorts = false },
		func(t *cases.Settings) { t.NoRandomFully = false },
		func(t *cases.Settings) { t.NodeAddressUnknown = false },
		func(t *cases.Settings) { t.NodePortAddresses = nil },
		func(t *cases.Settings) { t.TCPLiberal = nil },
		func(t *cases.Settings) { t.Accounting = "absent" },
	} {
		c := *s.best
		simpler(&c.Settings)
		s.try(&c)
	}
}

// objects makes the objects of each step smaller.
func (s *shrinking) objects() {
	for i := 0; i < len(s.best.Steps); i++ {
		switch {
		case s.best.Steps[i].Service != nil:
			s.service(i)
		case s.best.Steps[i].Slice != nil:
			s.slice(i)
		}
	}
}

func (s *shrinking) changed(step int, change func(*cases.Step)) bool {
	c := *s.best
	c.Steps = slices.Clone(c.Steps)
	c.Steps[step] = cases.Step{Service: c.Steps[step].Service.DeepCopy(), Slice: c.Steps[step].Slice.DeepCopy()}
	change(&c.Steps[step])
	return s.try(&c)
}

// service clears one field after the other, and drops ports and addresses.
func (s *shrinking) service(step int) {
	for _, clear := range []func(*v1.Service){
		func(o *v1.Service) { o.Spec.ExternalIPs = nil },
		func(o *v1.Service) { o.Status.LoadBalancer.Ingress = nil },
		func(o *v1.Service) { o.Spec.LoadBalancerSourceRanges = nil },
		func(o *v1.Service) {
			o.Spec.SessionAffinity, o.Spec.SessionAffinityConfig = v1.ServiceAffinityNone, nil
		},
		func(o *v1.Service) { o.Spec.TrafficDistribution, o.Spec.PublishNotReadyAddresses = nil, false },
		func(o *v1.Service) { o.Spec.InternalTrafficPolicy, o.Annotations = nil, nil },
		func(o *v1.Service) { o.Spec.HealthCheckNodePort, o.Spec.AllocateLoadBalancerNodePorts = 0, nil },
		func(o *v1.Service) { o.Spec.ExternalTrafficPolicy = "" },
		func(o *v1.Service) {
			for i := range o.Spec.Ports {
				o.Spec.Ports[i].NodePort = 0
			}
		},
		func(o *v1.Service) { o.Spec.Type = v1.ServiceTypeClusterIP },
	} {
		s.changed(step, func(t *cases.Step) { clear(t.Service) })
	}
	spec := func() *v1.ServiceSpec { return &s.best.Steps[step].Service.Spec }
	s.elements(func() int { return len(spec().Ports) }, step, func(t *cases.Step, i int) {
		t.Service.Spec.Ports = slices.Delete(t.Service.Spec.Ports, i, i+1)
	})
	s.elements(func() int { return len(spec().ExternalIPs) }, step, func(t *cases.Step, i int) {
		t.Service.Spec.ExternalIPs = slices.Delete(t.Service.Spec.ExternalIPs, i, i+1)
	})
	s.elements(func() int { return len(s.best.Steps[step].Service.Status.LoadBalancer.Ingress) }, step, func(t *cases.Step, i int) {
		b := &t.Service.Status.LoadBalancer
		b.Ingress = slices.Delete(b.Ingress, i, i+1)
	})
	s.elements(func() int { return len(spec().LoadBalancerSourceRanges) }, step, func(t *cases.Step, i int) {
		t.Service.Spec.LoadBalancerSourceRanges = slices.Delete(t.Service.Spec.LoadBalancerSourceRanges, i, i+1)
	})
}

func (s *shrinking) slice(step int) {
	object := func() *discovery.EndpointSlice { return s.best.Steps[step].Slice }
	s.elements(func() int { return len(object().Ports) }, step, func(t *cases.Step, i int) {
		t.Slice.Ports = slices.Delete(t.Slice.Ports, i, i+1)
	})
	if half := len(object().Endpoints) / 2; half > 10 {
		s.changed(step, func(t *cases.Step) { t.Slice.Endpoints = t.Slice.Endpoints[:half] })
	}
	s.elements(func() int { return min(len(object().Endpoints), 10) }, step, func(t *cases.Step, i int) {
		t.Slice.Endpoints = slices.Delete(t.Slice.Endpoints, i, i+1)
	})
	s.elements(func() int { return min(len(object().Endpoints), 10) }, step, func(t *cases.Step, i int) {
		t.Slice.Endpoints[i] = discovery.Endpoint{Addresses: t.Slice.Endpoints[i].Addresses[:1]}
	})
}

// elements changes each element of a list, from the last to the first.
func (s *shrinking) elements(count func() int, step int, change func(*cases.Step, int)) {
	for i := count() - 1; i >= 0; i-- {
		if i < count() {
			s.changed(step, func(t *cases.Step) { change(t, i) })
		}
	}
}
