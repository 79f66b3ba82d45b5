package names

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

// PolicyTool is a program that writes rules for NetworkPolicies.
type PolicyTool string

// The tools whose rules are known by their chains.
const (
	KubeRouter PolicyTool = "kube-router"
	Calico     PolicyTool = "Calico"
)

// policyChains begin the names of the tools' chains: kube-router has one chain for each pod and each policy, Calico one for each device of a
// pod and direction, and for each policy and direction.
var policyChains = map[string]PolicyTool{
	"KUBE-ROUTER-": KubeRouter, "KUBE-POD-FW-": KubeRouter, "KUBE-NWPLCY-": KubeRouter, "cali-": Calico,
}

// PolicyToolOf is the tool that a chain belongs to; empty if it is none's.
func PolicyToolOf(chain string) PolicyTool {
	for prefix, tool := range policyChains {
		if strings.HasPrefix(chain, prefix) {
			return tool
		}
	}
	return ""
}

// commentedObjects are how the tools' comments name a policy or a pod. kube-router: "policy name deny namespace shop", "run through nw policy
// deny", "POD name:web-1 namespace: shop", and since its comments are short "shop/deny ingress pods", "shop/web-1 reject". Calico: "Policy
// shop/knp.default.deny ingress", in the first rule of a policy's chain.
var commentedObjects = []struct {
	chain, kind string
	comment     *regexp.Regexp
}{
	{"KUBE-", "policy", regexp.MustCompile(`policy name:? (?P<name>[a-z0-9.-]+),? namespace:? (?P<namespace>[a-z0-9.-]+)`)},
	{"KUBE-", "policy", regexp.MustCompile(`run through nw policy (?P<name>[a-z0-9.-]+)`)},
	{"KUBE-", "pod", regexp.MustCompile(`POD name: ?(?P<name>[a-z0-9.-]+) namespace: ?(?P<namespace>[a-z0-9.-]+)`)},
	{"KUBE-NWPLCY-", "policy", regexp.MustCompile(`^(?P<namespace>[a-z0-9-]+)/(?P<name>[a-z0-9.-]+) (?:ingress|egress|except|ipblock)`)},
	{"KUBE-POD-FW-", "policy", regexp.MustCompile(`^(?P<namespace>[a-z0-9-]+)/(?P<name>[a-z0-9.-]+) policy$`)},
	{"KUBE-POD-FW-", "pod", regexp.MustCompile(`^(?P<namespace>[a-z0-9-]+)/(?P<name>[a-z0-9.-]+) (?:reject|log-drop)$`)},
	{"KUBE-ROUTER-", "pod", regexp.MustCompile(`^(?P<namespace>[a-z0-9-]+)/(?P<name>[a-z0-9.-]+) (?:in|out)$`)},
	{"cali-", "policy", regexp.MustCompile(`Policy (?P<namespace>[a-z0-9-]+)/(?:knp\.default\.)?(?P<name>[a-z0-9.-]+) (?:ingress|egress)`)},
}

// ofPolicies names the policy, or else the pod, that a rule of such a tool was written for: "policy shop/deny", "pod shop/web-1".
func (b *Book) ofPolicies(chain, text string) string {
	comment := commentOf(text)
	for _, o := range commentedObjects {
		m := o.comment.FindStringSubmatch(comment)
		if m == nil || !strings.HasPrefix(chain, o.chain) {
			continue
		}
		name := m[o.comment.SubexpIndex("name")]
		if at := o.comment.SubexpIndex("namespace"); at >= 0 {
			return o.kind + " " + m[at] + "/" + name
		}
		if all := b.policies[name]; len(all) == 1 { // the only one of that name; of several, any
			return o.kind + " " + all[0]
		}
		return o.kind + " " + name
	}
	for _, name := range []string{chain, TargetOf(text)} {
		if object := b.chains[name]; object != "" {
			return object
		}
	}
	return ""
}

// addPolicy notes a policy, and the chains that Calico has for it.
func (b *Book) addPolicy(p *networkingv1.NetworkPolicy) {
	name := portName(p.Namespace, p.Name, "")
	b.policies[p.Name] = append(b.policies[p.Name], name)
	for _, prefix := range []string{"cali-pi-", "cali-po-"} {
		b.chains[calicoChain(prefix, p.Namespace+"/knp.default."+p.Name)] = "policy " + name
	}
}

// calicoChain is the chain that Calico has for something: its name, or a part of its hash where that is longer than a chain's name can be.
func calicoChain(prefix, name string) string {
	const longest = 28
	if len(prefix)+len(name) <= longest {
		return prefix + name
	}
	hash := sha256.Sum256([]byte(name))
	return (prefix + "_" + base64.RawURLEncoding.EncodeToString(hash[:]))[:longest]
}
