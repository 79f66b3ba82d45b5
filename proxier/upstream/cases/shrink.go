package cases

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"sigs.k8s.io/yaml"

	"github.com/chainwalk/chainwalk/internal/ddmin"
)

// Shrink returns the smallest case found that still fails, after trying so many at most: with fewer steps, and with less in each of them
// and in the settings.
func Shrink(c *Case, tries int, fails func(*Case) bool) *Case {
	s := &shrinking{best: c, tries: tries, fails: fails}
	for before := -1; before != s.found && s.tries > 0; {
		before = s.found
		s.steps()
		s.parts()
	}
	return s.best
}

type shrinking struct {
	best  *Case
	tries int
	found int
	fails func(*Case) bool
}

// try keeps a case that still fails.
func (s *shrinking) try(c *Case) bool {
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

// parts drops whatever a step or the settings say that they need not.
func (s *shrinking) parts() {
	text, err := s.best.Marshal()
	if err != nil {
		return
	}
	var t any
	if err := yaml.Unmarshal(text, &t); err != nil {
		return
	}
	ddmin.Parts(t, func(less ddmin.Tree) bool {
		text, err := yaml.Marshal(less)
		if err != nil {
			return false
		}
		c, err := parse(text)
		return err == nil && !slices.ContainsFunc(c.Steps, func(s Step) bool { return !s.complete() }) && s.try(c)
	})
}

// complete reports whether an object has what every API server fills in, so that proxiers count on it.
func (s *Step) complete() bool {
	switch {
	case s.Service != nil:
		return completeService(s.Service)
	case s.Slice != nil:
		return completeSlice(s.Slice)
	}
	return true
}

func completeService(o *v1.Service) bool {
	if slices.ContainsFunc(o.Spec.Ports, func(p v1.ServicePort) bool { return p.Protocol == "" || p.Port == 0 }) {
		return false
	}
	outside := o.Spec.Type == v1.ServiceTypeExternalName
	return o.Name != "" && o.Namespace != "" && o.Spec.Type != "" && (outside || o.Spec.ClusterIP != "" && len(o.Spec.ClusterIPs) > 0)
}

func completeSlice(o *discovery.EndpointSlice) bool {
	return o.Name != "" && o.Namespace != "" && o.AddressType != "" &&
		!slices.ContainsFunc(o.Ports, func(p discovery.EndpointPort) bool { return p.Protocol == nil || p.Name == nil }) &&
		!slices.ContainsFunc(o.Endpoints, func(e discovery.Endpoint) bool { return len(e.Addresses) == 0 })
}
