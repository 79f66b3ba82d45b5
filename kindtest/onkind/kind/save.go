package kind

import (
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/internal/lazyregexp"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance/hashed"
)

// saves maps what iptables-save prints on a node back to the scenario: addresses, ranges, the names of chains that are made of addresses.
// It leaves out services of the cluster itself and of the session.
type saves struct {
	mapping *Mapping
	// endpoints are the names of endpoints' chains in the cluster, and those of the scenario.
	endpoints map[string]string
	// services are the NAMESPACE/NAME of services that the scenario has had.
	services map[string]bool
}

func newSaves(m *Mapping) *saves {
	return &saves{mapping: m, endpoints: map[string]string{}, services: map[string]bool{}}
}

// endpointChain is the name of an endpoint's chain, as kube-proxy makes it.
func endpointChain(servicePort string, protocol corev1.Protocol, endpoint netip.AddrPort) string {
	return hashed.EndpointChain(provenance.ServicePort(servicePort), strings.ToLower(string(protocol)), endpoint)
}

// noteService remembers a service of the scenario.
func (s *saves) noteService(service *corev1.Service) {
	s.services[service.Namespace+"/"+service.Name] = true
}

// noteSlice remembers the endpoints of a slice of the scenario.
func (s *saves) noteSlice(slice *discoveryv1.EndpointSlice) {
	service := slice.Namespace + "/" + slice.Labels[discoveryv1.LabelServiceName]
	s.services[service] = true
	for _, p := range slice.Ports {
		if p.Port == nil {
			continue
		}
		name, protocol := service, corev1.ProtocolTCP
		if p.Name != nil && *p.Name != "" {
			name += ":" + *p.Name
		}
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		for i := range slice.Endpoints {
			for _, text := range slice.Endpoints[i].Addresses {
				of := netip.AddrPortFrom(parse(text), uint16(*p.Port))
				if of.Addr().IsValid() {
					s.endpoints[endpointChain(name, protocol, s.mapping.ToPort(of))] = endpointChain(name, protocol, of)
				}
			}
		}
	}
}

var (
	addressPattern = lazyregexp.New(`(?:\d{1,3}\.){3}\d{1,3}(?:/\d+)?|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?:/\d+)?`)
	counterPattern = lazyregexp.New(`^\[\d+:\d+\] `)
)

// back maps what iptables-save has printed back.
func (s *saves) back(save string, family netfilter.Family, dialect netfilter.Dialect) (string, error) {
	lines, err := fakekernel.Lines("the saved rules", save, family, dialect)
	if err != nil {
		return "", err
	}
	foreign := s.foreignChains(lines)
	var out strings.Builder
	for i := range lines {
		if l := &lines[i]; !s.isForeign(l) && !foreign[chainOf(l)] && !(l.Fact != nil && foreign[tableChain{l.Table, l.Fact.Jump}]) {
			out.WriteString(s.line(l.Text) + "\n")
		}
	}
	return out.String(), nil
}

func (s *saves) line(line string) string {
	line = provenance.WithChains(line, func(name string) string {
		if of, ok := s.endpoints[name]; ok {
			return of
		}
		return name
	})
	counters := counterPattern().FindString(line)
	return counters + s.mapping.BackText(line[len(counters):])
}

// tableChain is a chain of a table.
type tableChain struct{ table, chain string }

func chainOf(l *fakekernel.Line) tableChain { return tableChain{l.Table, l.Chain} }

// foreignChains are the chains of services that are none of the scenario's: they have rules of such a service, or such a rule leads to
// them.
func (s *saves) foreignChains(lines []fakekernel.Line) map[tableChain]bool {
	out := map[tableChain]bool{}
	for i := range lines {
		l := &lines[i]
		if !s.isForeign(l) {
			continue
		}
		for _, chain := range []string{l.Chain, l.Fact.Jump} {
			if provenance.IsOfServicePort(chain) {
				out[tableChain{l.Table, chain}] = true
			}
		}
	}
	return out
}

// isForeign reports whether a line is a rule of a service that is none of the scenario's.
func (s *saves) isForeign(l *fakekernel.Line) bool {
	if l.Fact == nil {
		return false
	}
	service := provenance.ServicePortOf(l.Table, l.Chain, l.Fact).Service()
	return service != "" && !s.services[service]
}

// BackText maps the addresses and ranges in a text back.
func (m *Mapping) BackText(text string) string {
	return addressPattern().ReplaceAllStringFunc(text, func(found string) string {
		address, bits, isRange := strings.Cut(found, "/")
		a, err := netip.ParseAddr(address)
		if err != nil {
			return found
		}
		if isRange {
			if p, err := netip.ParsePrefix(found); err == nil {
				if of, ok := m.ranges[p.Masked()]; ok {
					return of.Masked().String()
				}
			}
			return m.Back(a).String() + "/" + bits
		}
		return m.Back(a).String()
	})
}

// toText maps the addresses and ranges in a text of the scenario, such as rules and commands. The error says which range has none.
func (m *Mapping) toText(text string) (string, error) {
	var wrong error
	mapped := addressPattern().ReplaceAllStringFunc(text, func(found string) string {
		if p, err := netip.ParsePrefix(found); err == nil {
			in, err := m.addressRange(p)
			if err != nil {
				wrong = err
			}
			return in.String()
		}
		if a, err := netip.ParseAddr(found); err == nil {
			return m.To(a).String()
		}
		return found
	})
	return mapped, wrong
}
