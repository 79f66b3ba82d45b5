package story

import (
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/packetsim"
)

// kubeChain begins the names of kube-proxy's chains.
const kubeChain = "KUBE-"

// isKubeProxys says whether a chain has one of kube-proxy's names, and not one of kube-router's for NetworkPolicies, whose comments name those.
func isKubeProxys(chain string) bool {
	return strings.HasPrefix(chain, kubeChain) &&
		!slices.ContainsFunc([]string{"KUBE-ROUTER-", "KUBE-POD-FW-", "KUBE-NWPLCY-"}, func(p string) bool { return strings.HasPrefix(chain, p) })
}

// serviceOfStep is the service that a rule of kube-proxy is for, "shop/web:http", as the rule's comment says; empty for other rules.
func serviceOfStep(s *packetsim.Step) string {
	if s.Rule == nil || !isKubeProxys(s.Chain) {
		return ""
	}
	for _, word := range strings.Fields(commentOf(s.Rule)) {
		if namespace, name, ok := strings.Cut(word, "/"); ok && isName(namespace) && isName(strings.Replace(name, ":", "", 1)) {
			return word
		}
	}
	return ""
}

// isName says whether a word can be a name of Kubernetes (RFC 1123, a subdomain).
func isName(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-."
	return s != "" && strings.Trim(s, letters) == "" && s[0] != '-'
}

// commentOf joins a rule's comments, without those that only number Calico's rules.
func commentOf(r *fakeipt.Rule) string {
	var all []string
	for _, m := range r.Matches {
		if comment, ok := m.(*fakeipt.MatchComment); ok && !strings.HasPrefix(comment.Text, "cali:") {
			all = append(all, comment.Text)
		}
	}
	return strings.Join(all, " ")
}
