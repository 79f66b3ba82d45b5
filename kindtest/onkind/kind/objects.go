package kind

import (
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	netutils "k8s.io/utils/net"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// sessionLabel marks what a session has made. Its value is the same for all of them: one session at a time has a cluster.
const sessionLabel = "chainwalk.dev/scenario"

// object is an object of a scenario as the cluster is given it: a copy, with its addresses, ranges and nodes mapped, and without what
// only an API server fills in.
func (m *Mapping) object(o manifest.Object) (runtime.Object, error) {
	var err error
	switch object := o.Object.(type) {
	case *corev1.Service:
		service := object.DeepCopy()
		own(&service.ObjectMeta)
		err = m.service(service)
		return service, wrap(o, err)
	case *discoveryv1.EndpointSlice:
		slice := object.DeepCopy()
		own(&slice.ObjectMeta)
		err = m.slice(slice)
		return slice, wrap(o, err)
	case *corev1.ConfigMap:
		config := object.DeepCopy()
		own(&config.ObjectMeta)
		return config, nil
	case *corev1.Namespace:
		namespace := object.DeepCopy()
		own(&namespace.ObjectMeta)
		return namespace, nil
	}
	return nil, fmt.Errorf("%s: %s: objects of this kind are not mapped", o.Pos, o.Ref())
}

func wrap(o manifest.Object, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", o.Pos, o.Ref(), err)
}

// own makes metadata that of a new object, and marks it.
func own(meta *metav1.ObjectMeta) {
	*meta = metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, Labels: meta.Labels, Annotations: meta.Annotations}
	labels := map[string]string{sessionLabel: "true"}
	for key, value := range meta.Labels {
		labels[key] = value
	}
	meta.Labels = labels
}

func (m *Mapping) service(s *corev1.Service) error {
	for i, text := range s.Spec.ClusterIPs {
		if a := parse(text); a.IsValid() {
			s.Spec.ClusterIPs[i] = m.clusterIP(a).String()
		}
	}
	if a := parse(s.Spec.ClusterIP); a.IsValid() {
		s.Spec.ClusterIP = m.clusterIP(a).String()
	}
	m.texts(s.Spec.ExternalIPs)
	s.Spec.LoadBalancerIP = m.text(s.Spec.LoadBalancerIP)
	for i := range s.Status.LoadBalancer.Ingress {
		one := &s.Status.LoadBalancer.Ingress[i]
		one.IP = m.text(one.IP)
	}
	for i, text := range s.Spec.LoadBalancerSourceRanges {
		mapped, err := m.rangeText(text)
		if err != nil {
			return err
		}
		s.Spec.LoadBalancerSourceRanges[i] = mapped
	}
	return nil
}

func (m *Mapping) slice(s *discoveryv1.EndpointSlice) error {
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		m.texts(e.Addresses)
		if e.NodeName != nil {
			name := m.Node(*e.NodeName)
			e.NodeName = &name
		}
		if e.Hints == nil {
			continue
		}
		for j := range e.Hints.ForNodes {
			e.Hints.ForNodes[j].Name = m.Node(e.Hints.ForNodes[j].Name)
		}
	}
	return nil
}

func (m *Mapping) texts(texts []string) {
	for i := range texts {
		texts[i] = m.text(texts[i])
	}
}

// text is an address in an object; other texts stay as they are.
func (m *Mapping) text(text string) string {
	a := parse(text)
	if !a.IsValid() {
		return text
	}
	return spelledAs(text, m.To(a))
}

// spelledAs is an address with leading zeros, if the text of another one has such.
func spelledAs(text string, a netip.Addr) string {
	if _, err := netip.ParseAddr(text); err == nil || !a.Is4() {
		return a.String()
	}
	b := a.As4()
	return fmt.Sprintf("%03d.%03d.%03d.%03d", b[0], b[1], b[2], b[3])
}

// parse reads an address as Kubernetes does: with leading zeros, in decimal.
func parse(text string) netip.Addr {
	ip := netutils.ParseIPSloppy(text)
	a, _ := netip.AddrFromSlice(ip)
	return a.Unmap()
}

// misspelled is the first address or range of an object with leading zeros, which not every API server takes; empty if there is none. A
// cluster IP is not looked at: it is mapped in any case, to one in its proper spelling.
func misspelled(o manifest.Object) string {
	var texts []string
	switch object := o.Object.(type) {
	case *corev1.Service:
		texts = append(append(texts, object.Spec.ExternalIPs...), object.Spec.LoadBalancerSourceRanges...)
		for _, one := range object.Status.LoadBalancer.Ingress {
			texts = append(texts, one.IP)
		}
	case *discoveryv1.EndpointSlice:
		for i := range object.Endpoints {
			texts = append(texts, object.Endpoints[i].Addresses...)
		}
	}
	for _, text := range texts {
		bare, _, _ := strings.Cut(strings.TrimSpace(text), "/")
		if _, err := netip.ParseAddr(bare); err != nil && parse(bare).IsValid() {
			return text
		}
	}
	return ""
}

// refusedByAPI is what an API server refuses in an object and those of earlier versions let in; empty if there is nothing.
func refusedByAPI(o manifest.Object, oldSpellings bool) string {
	switch object := o.Object.(type) {
	case *corev1.Service:
		for _, text := range object.Spec.LoadBalancerSourceRanges {
			if p, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil && p != p.Masked() && !oldSpellings {
				return fmt.Sprintf("an API server does not take the source range %q, with bits beyond the prefix length", text)
			}
		}
	case *discoveryv1.EndpointSlice:
		for i := range object.Endpoints {
			for _, text := range object.Endpoints[i].Addresses {
				if a := parse(text); a.IsValid() && a.Is6() != (object.AddressType == discoveryv1.AddressTypeIPv6) {
					return fmt.Sprintf("an API server does not take %s in a slice of %s", text, object.AddressType)
				}
			}
		}
	}
	return ""
}
