package gather

import (
	"fmt"
	"slices"
	"strings"
)

// roleName is the name of the roles that grant rights.
const roleName = "chainwalk-gather"

// RolesYAML are the ClusterRole and the Roles that grant rights, one Role for each namespace, as kubectl apply takes them, with the commands
// that bind them. Without a right it is empty.
func RolesYAML(rights []Right) string {
	var namespaces []string
	for _, r := range rights {
		if !slices.Contains(namespaces, r.Namespace) {
			namespaces = append(namespaces, r.Namespace)
		}
	}
	var b strings.Builder
	for i, namespace := range namespaces {
		if i > 0 {
			b.WriteString("---\n")
		}
		kind, bind, place := "Role", "rolebinding", fmt.Sprintf(", namespace: %s", namespace)
		if namespace == "" {
			kind, bind, place = "ClusterRole", "clusterrolebinding", ""
		}
		flag := ""
		if namespace != "" {
			flag = " -n " + namespace
		}
		fmt.Fprintf(&b, "# kubectl create %s %s%s --%s=%s --user=USER   (--serviceaccount=NAMESPACE:NAME)\n", bind, roleName, flag,
			strings.ToLower(kind), roleName)
		fmt.Fprintf(&b, "apiVersion: rbac.authorization.k8s.io/v1\nkind: %s\nmetadata: {name: %s%s}\nrules:\n", kind, roleName, place)
		for _, rule := range rulesOf(rights, namespace) {
			b.WriteString(rule)
		}
	}
	return b.String()
}

// rulesOf are the rules for the rights in a namespace, those for the same resource as one.
func rulesOf(rights []Right, namespace string) []string {
	type place struct{ group, resource, name string }
	var order []place
	verbs := map[place][]string{}
	for _, r := range rights {
		if r.Namespace != namespace {
			continue
		}
		p := place{r.Group, r.Resource, r.Name}
		if verbs[p] == nil {
			order = append(order, p)
		}
		verbs[p] = append(verbs[p], r.Verb)
	}
	var out []string
	for _, p := range order {
		name := ""
		if p.name != "" {
			name = fmt.Sprintf(", resourceNames: [%s]", p.name)
		}
		out = append(out, fmt.Sprintf("- {apiGroups: [%q], resources: [%s]%s, verbs: [%s]}\n", p.group, p.resource, name,
			strings.Join(verbs[p], ", ")))
	}
	return out
}
