package names

import (
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// Rule names what a rule of a chain was written for: "pod shop/web-1" or "endpoint ADDRESS:PORT of shop/web" for one that leads to an
// endpoint, "service shop/web:http", "policy shop/deny"; empty if unknown. An object that the Book does not have is named with a word
// about that.
func (b *Book) Rule(table, chain string, f *netfilter.Fact) string {
	if provenance.IsForPolicies(chain, f) {
		return b.ofPolicies(chain, f)
	}
	for _, name := range []string{f.Jump, chain} {
		if provenance.IsOfEndpoint(name) {
			return b.endpointOf(name, table, chain, f)
		}
	}
	for _, name := range []string{chain, f.Jump} {
		if object := b.chains[name]; object != "" {
			return object
		}
	}
	if port := provenance.ServicePortOf(table, chain, f); port != "" {
		return b.service(port)
	}
	return ""
}

// endpointOf names the endpoint that a rule leads to or stands for, by the name of the endpoint's chain or, for one that no object has,
// by what the rule says.
func (b *Book) endpointOf(endpoint, table, chain string, f *netfilter.Fact) string {
	if object := b.chains[endpoint]; object != "" {
		return object
	}
	name := ""
	if at := provenance.EndpointOf(f); at.IsValid() {
		name = "endpoint " + at.String()
	}
	if port := provenance.ServicePortOf(table, chain, f); port != "" {
		name = strings.TrimSpace(name + " of " + string(port))
	}
	if name == "" {
		return ""
	}
	return name + missing
}

const missing = " (not among the objects)"

// service names a service port that a rule names.
func (b *Book) service(port provenance.ServicePort) string {
	name := string(port)
	for _, s := range b.services {
		own := portName(s.Namespace, s.Name, "")
		if name == own {
			return "service " + name
		}
		for i := range s.Spec.Ports {
			if name == portName(s.Namespace, s.Name, s.Spec.Ports[i].Name) {
				return "service " + name
			}
		}
	}
	return "service " + name + missing
}

// ofPolicies names the policy, or else the pod, that a rule for NetworkPolicies was written for: "policy shop/deny", "pod shop/web-1".
func (b *Book) ofPolicies(chain string, f *netfilter.Fact) string {
	object := provenance.PolicyObjectOf(chain, f)
	all := b.policies[object.Name]
	switch {
	case object.Kind == "":
	case object.Namespace != "":
		return object.Kind + " " + object.Namespace + "/" + object.Name
	case len(all) == 1: // the only one of that name; of several, any
		return object.Kind + " " + all[0]
	default:
		return object.Kind + " " + object.Name
	}
	for _, name := range []string{chain, f.Jump} {
		if object := b.chains[name]; object != "" {
			return object
		}
	}
	return ""
}
