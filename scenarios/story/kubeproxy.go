package story

import (
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/packetsim"
)

// kubeChain begins the names of kube-proxy's chains.
const kubeChain = "KUBE-"

// serviceOfStep is the service that a rule of kube-proxy is for, "shop/web:http", as the rule's comment says; empty for other rules.
func serviceOfStep(s *packetsim.Step) string {
	if s.Rule == nil || !strings.HasPrefix(s.Chain, kubeChain) {
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

// commentOf is the text of the rule's first comment.
func commentOf(r *fakeipt.Rule) string {
	for _, m := range r.Matches {
		if comment, ok := m.(*fakeipt.MatchComment); ok {
			return comment.Text
		}
	}
	return ""
}
