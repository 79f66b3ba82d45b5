package provenance

import (
	"net/netip"
	"regexp"
	"strings"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
	"github.com/chainwalk/chainwalk/netfilter"
)

// PolicyObject is the NetworkPolicy or the pod that a rule for NetworkPolicies was written for.
type PolicyObject struct {
	Kind      string // "policy" or "pod"
	Namespace string // empty if the rule does not say it
	Name      string
}

// commentedObjects are how comments name a policy or a pod. kube-router: "policy name deny namespace shop", "run through nw policy deny",
// "POD name:web-1 namespace: shop", and since its comments are short "shop/deny ingress pods", "shop/web-1 reject". Calico: "Policy
// shop/knp.default.deny ingress", in the first rule of a policy's chain.
var commentedObjects = []struct {
	chain, kind string
	comment     func() *regexp.Regexp
}{
	{"KUBE-", "policy", lazyregexp.New(`policy name:? (?P<name>[a-z0-9.-]+),? namespace:? (?P<namespace>[a-z0-9.-]+)`)},
	{"KUBE-", "policy", lazyregexp.New(`run through nw policy (?P<name>[a-z0-9.-]+)`)},
	{"KUBE-", "pod", lazyregexp.New(`POD name: ?(?P<name>[a-z0-9.-]+) namespace: ?(?P<namespace>[a-z0-9.-]+)`)},
	{"KUBE-NWPLCY-", "policy", lazyregexp.New(`^(?P<namespace>[a-z0-9-]+)/(?P<name>[a-z0-9.-]+) (?:ingress|egress|except|ipblock)`)},
	{"KUBE-POD-FW-", "policy", lazyregexp.New(`^(?P<namespace>[a-z0-9-]+)/(?P<name>[a-z0-9.-]+) policy$`)},
	{"KUBE-POD-FW-", "pod", lazyregexp.New(`^(?P<namespace>[a-z0-9-]+)/(?P<name>[a-z0-9.-]+) (?:reject|log-drop)$`)},
	{"KUBE-ROUTER-", "pod", lazyregexp.New(`^(?P<namespace>[a-z0-9-]+)/(?P<name>[a-z0-9.-]+) (?:in|out)$`)},
	{"cali-", "policy", lazyregexp.New(`Policy (?P<namespace>[a-z0-9-]+)/(?:knp\.default\.)?(?P<name>[a-z0-9.-]+) (?:ingress|egress)`)},
}

// IsForPolicies says whether a rule was written for NetworkPolicies: it stands in a chain of such a writer, or leads to one.
func IsForPolicies(chain string, f *netfilter.Fact) bool {
	return WriterOf(chain).HoldsPolicies() || WriterOf(f.Jump).HoldsPolicies()
}

// PolicyObjectOf is what a rule for NetworkPolicies was written for, as its comment says; its Kind is empty if it says nothing.
func PolicyObjectOf(chain string, f *netfilter.Fact) PolicyObject {
	for _, o := range commentedObjects {
		m := o.comment().FindStringSubmatch(f.Comment)
		if m == nil || !strings.HasPrefix(chain, o.chain) {
			continue
		}
		object := PolicyObject{Kind: o.kind, Name: m[o.comment().SubexpIndex("name")]}
		if at := o.comment().SubexpIndex("namespace"); at >= 0 {
			object.Namespace = m[at]
		}
		return object
	}
	return PolicyObject{}
}

// GuardedSide is the side of a packet whose pod has the policies that a rule leads to: kube-router says that by the address for which it
// leads to a pod's chain, Calico by the name of the chain. It is empty if the rule does not say it.
func GuardedSide(chain string, f *netfilter.Fact, src, dst netip.Addr) netfilter.Side {
	router := strings.HasPrefix(chain, "KUBE-ROUTER-")
	switch {
	case strings.HasPrefix(chain, "cali-tw-"), router && f.Conditions.Dst.Addr() == dst:
		return netfilter.Destination
	case strings.HasPrefix(chain, "cali-fw-"), router && f.Conditions.Src.Addr() == src:
		return netfilter.Source
	}
	return ""
}

// Comment is a rule's comment for people: without the words by which Calico only numbers its rules.
func Comment(f *netfilter.Fact) string {
	words := strings.Split(f.Comment, " ")
	for len(words) > 0 && strings.HasPrefix(words[0], "cali:") {
		words = words[1:]
	}
	return strings.Join(words, " ")
}
