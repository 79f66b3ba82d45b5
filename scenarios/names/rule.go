package names

import (
	"net/netip"
	"regexp"
	"strings"

	"github.com/chainwalk/chainwalk/proxier/chains"
)

// commented is a rule's comment.
var commented = regexp.MustCompile(` --comment (?:"((?:[^"\\]|\\.)*)"|(\S+))`)

// commentOf joins a rule's comments.
func commentOf(rule string) string {
	var all []string
	for _, m := range commented.FindAllStringSubmatch(rule, -1) {
		all = append(all, m[1]+m[2])
	}
	return strings.Join(all, " ")
}

// servicePort is how kube-proxy names a service port in a comment: at its beginning, or behind "for" or "to".
var servicePort = regexp.MustCompile(`(?:^|\b(?:for|to) )([a-z0-9][a-z0-9.-]*/[a-z0-9][a-z0-9.-]*(?::[a-z0-9-]+)?)(?: |$)`)

// CommentedService is the service port that a rule's comment names as kube-proxy does, NAMESPACE/NAME or NAMESPACE/NAME:PORT; empty if it
// names none.
func CommentedService(rule string) string {
	m := servicePort.FindStringSubmatch(commentOf(rule))
	if m == nil {
		return ""
	}
	return m[1]
}

// Rule names what a rule of a chain was written for: "pod shop/web-1" or "endpoint ADDRESS:PORT of shop/web" for one that leads to an
// endpoint, "service shop/web:http", "policy shop/deny"; empty if nobody knows. An object that the Book does not have is named with a word
// about that.
func (b *Book) Rule(_, chain, text string) string {
	if PolicyToolOf(chain) != "" || PolicyToolOf(TargetOf(text)) != "" {
		return b.ofPolicies(chain, text)
	}
	target := TargetOf(text)
	for _, name := range []string{target, chain} {
		if strings.HasPrefix(name, chains.EndpointPrefix) {
			return b.endpointOf(name, text)
		}
	}
	for _, name := range []string{chain, target} {
		if object := b.chains[name]; object != "" {
			return object
		}
	}
	if service := CommentedService(text); service != "" {
		return b.service(service)
	}
	return ""
}

// TargetOf is the target of a rule, or the chain that it leads to, as iptables-save prints the rule; empty if it has none.
func TargetOf(rule string) string {
	words := strings.Fields(rule)
	for i := 0; i+1 < len(words); i++ {
		if words[i] == "-j" || words[i] == "-g" {
			return words[i+1]
		}
	}
	return ""
}

// destination is the endpoint of a rule in its chain, or of one that leads there.
var destination = regexp.MustCompile(`(?:--to-destination|->) ([0-9a-f.:\[\]]+)`)

// endpointOf names the endpoint of a chain, by the chain's name or, for one that no object has, by what a rule says.
func (b *Book) endpointOf(chain, rule string) string {
	if object := b.chains[chain]; object != "" {
		return object
	}
	name := ""
	if m := destination.FindStringSubmatch(rule); m != nil {
		if at, err := netip.ParseAddrPort(m[1]); err == nil {
			name = "endpoint " + at.String()
		}
	}
	if service := CommentedService(rule); service != "" {
		name = strings.TrimSpace(name + " of " + service)
	}
	if name == "" {
		return ""
	}
	return name + missing
}

const missing = " (not among the objects)"

// service names a service port that a comment names.
func (b *Book) service(name string) string {
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
