package provenance

import (
	"net/netip"
	"strings"
	"sync"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Names are other names for what comments name.
type Names interface {
	ServicePort(ServicePort) ServicePort
	// Policy is another one of a namespace, which may not be known, and a name; Pod the same.
	Policy(namespace, name string) (otherNamespace, otherName string)
	Pod(namespace, name string) (otherNamespace, otherName string)
	Address(netip.Addr) netip.Addr
	Chain(string) string
}

// words are those of which kube-proxy and the kubelet make their comments, beside names.
var words = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for word := range strings.FieldsSeq(`
		kubernetes service portals externally-visible load balancer firewall health check ports forwarding rules conntrack rule postrouting
		traffic requiring SNAT cluster external loadbalancer IP has no local endpoints node port not accepted by other to will be dropped
		masquerade pod for destinations LOCAL route block incoming localnet connections -> handle ClusterIPs; NOTE: this must be the last in
		chain nodeports;`) {
		out[word] = true
	}
	return out
})

// WithNames is a rule's comment with other names, as far as it is of a form that a program of Kubernetes or a writer of NetworkPolicies
// has; false for any other, which may say anything.
func WithNames(table, chain string, f *netfilter.Fact, names Names) (string, bool) {
	writer := OfRule(table, chain, f)
	switch {
	case writer.HoldsPolicies():
		return policyComment(chain, f.Comment, names)
	case !writer.IsKubernetes():
		return "", false
	}
	own := ServicePortOf(table, chain, f)
	fields := strings.Fields(f.Comment)
	for i, field := range fields {
		at, err := netip.ParseAddrPort(field)
		switch {
		case own != "" && field == string(own):
			fields[i] = string(names.ServicePort(own))
		case err == nil:
			fields[i] = netip.AddrPortFrom(names.Address(at.Addr()), at.Port()).String()
		case IsOfServicePort(field) || IsEverywhere(field):
			fields[i] = names.Chain(field)
		case !words()[field]:
			return "", false
		}
	}
	return strings.Join(fields, " "), true
}

// policyComment is what a comment says of a policy or a pod, with other names; the words beside it are left out.
func policyComment(chain, comment string, names Names) (string, bool) {
	for _, o := range commentedObjects {
		found := o.comment().FindStringSubmatchIndex(comment)
		if found == nil || !strings.HasPrefix(chain, o.chain) {
			continue
		}
		object := PolicyObjectOf(chain, &netfilter.Fact{Comment: comment})
		other := names.Policy
		if o.kind == "pod" {
			other = names.Pod
		}
		namespace, name := other(object.Namespace, object.Name)
		out, from := "", found[0]
		for group, of := range o.comment().SubexpNames() {
			if of == "" {
				continue
			}
			out += comment[from:found[2*group]]
			if from = found[2*group+1]; of == "name" {
				out += name
			} else {
				out += namespace
			}
		}
		return out + comment[from:found[1]], true
	}
	return "", false
}
