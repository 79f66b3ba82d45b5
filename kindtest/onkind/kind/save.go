package kind

import (
	"net/netip"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// saves maps what iptables-save prints on a node back to the scenario: addresses, ranges, the names of chains that are made of addresses. What is none
// of the scenario's is left out: services of the cluster itself and of the session.
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
	return provenance.EndpointChain(provenance.ServicePort(servicePort), strings.ToLower(string(protocol)), endpoint)
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

// eachLine gives the lines of what iptables-save has printed, with the table that they are of.
func eachLine(save string, take func(table, line string)) {
	table := ""
	for line := range strings.Lines(save) {
		line = strings.TrimRight(line, "\n")
		if name, ok := strings.CutPrefix(line, "*"); ok {
			table = name
		}
		take(table, line)
	}
}

var (
	commentPattern = regexp.MustCompile(`--comment (?:"([^"]*)"|(\S+))`)
	servicePattern = regexp.MustCompile(`^([a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9.-]*)`)
	addressPattern = regexp.MustCompile(`(?:\d{1,3}\.){3}\d{1,3}(?:/\d+)?|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?:/\d+)?`)
	counterPattern = regexp.MustCompile(`^\[\d+:\d+\] `)
)

// back maps a text back.
func (s *saves) back(save string) string {
	foreign := s.foreignChains(save)
	var out strings.Builder
	eachLine(save, func(table, line string) {
		if s.isForeign(table, line, foreign) {
			return
		}
		out.WriteString(s.line(line) + "\n")
	})
	return out.String()
}

func (s *saves) line(line string) string {
	line = provenance.WithChains(line, func(name string) string {
		if of, ok := s.endpoints[name]; ok {
			return of
		}
		return name
	})
	counters := counterPattern.FindString(line)
	return counters + s.mapping.BackText(line[len(counters):])
}

// serviceOf is the service that a rule is about by its comment; empty if it says none.
func serviceOf(line string) string {
	for _, m := range commentPattern.FindAllStringSubmatch(line, -1) {
		if found := servicePattern.FindString(m[1] + m[2]); found != "" {
			return found
		}
	}
	return ""
}

// foreignChains are the chains of services that are none of the scenario's, by table and name: they carry such a comment, or such a rule leads to them.
func (s *saves) foreignChains(save string) map[string]bool {
	out := map[string]bool{}
	eachLine(save, func(table, line string) {
		service := serviceOf(line)
		if service == "" || s.services[service] {
			return
		}
		words := strings.Fields(line)
		for i, word := range words[:max(len(words)-1, 0)] {
			if (word == "-A" || word == "-j") && provenance.IsOfServicePort(words[i+1]) {
				out[table+" "+words[i+1]] = true
			}
		}
	})
	return out
}

// isForeign reports whether a line is about something that is none of the scenario's.
func (s *saves) isForeign(table, line string, foreign map[string]bool) bool {
	if service := serviceOf(line); service != "" && !s.services[service] {
		return true
	}
	if name, ok := strings.CutPrefix(line, ":"); ok {
		name, _, _ = strings.Cut(name, " ")
		return foreign[table+" "+name]
	}
	words := strings.Fields(line)
	for i, word := range words[:max(len(words)-1, 0)] {
		if (word == "-A" || word == "-j" || word == "-g") && foreign[table+" "+words[i+1]] {
			return true
		}
	}
	return false
}

// BackText maps the addresses and ranges in a text back.
func (m *Mapping) BackText(text string) string {
	return addressPattern.ReplaceAllStringFunc(text, func(found string) string {
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
	mapped := addressPattern.ReplaceAllStringFunc(text, func(found string) string {
		if p, err := netip.ParsePrefix(found); err == nil {
			in, err := m.Range(p)
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
