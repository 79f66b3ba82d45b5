package gather

import (
	"fmt"
	"slices"
	"strings"
)

// roleName is the name of the roles that grant rights.
const roleName = "chainwalk-gather"

// RolesYAML are the ClusterRole and the Roles that grant rights, one Role for each namespace, as kubectl apply takes them, with the
// commands that bind them.
func RolesYAML(rights []Right) string { return rolesYAML(rights, nil) }

// rolesYAML is RolesYAML, but has the roles alone that would grant a missing right, if any is missing. Each role is whole, so that applying
// it takes no right away that it grants already, and the missing ones are marked.
func rolesYAML(rights, missing []Right) string {
	var namespaces []string
	for _, r := range rights {
		lacks := slices.ContainsFunc(missing, func(m Right) bool { return m.Namespace == r.Namespace })
		if !slices.Contains(namespaces, r.Namespace) && (lacks || missing == nil) {
			namespaces = append(namespaces, r.Namespace)
		}
	}
	var roles []string
	for _, namespace := range namespaces {
		kind, place, bind := "Role", ", namespace: "+namespace, fmt.Sprintf("rolebinding %s -n %s --role=%s", roleName, namespace, roleName)
		if namespace == "" {
			kind, place, bind = "ClusterRole", "", fmt.Sprintf("clusterrolebinding %s --clusterrole=%s", roleName, roleName)
		}
		roles = append(roles, fmt.Sprintf("# kubectl create %s --user=NAME, or --serviceaccount=NAMESPACE:NAME\n"+
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: %s\nmetadata: {name: %s%s}\nrules:\n%s", bind, kind, roleName, place,
			strings.Join(rulesOf(rights, missing, namespace), "")))
	}
	return strings.Join(roles, "---\n")
}

// rulesOf are the rules for the rights in a namespace, those for the same resource as one.
func rulesOf(rights, missing []Right, namespace string) []string {
	type place struct{ group, resource, name string }
	var order []place
	verbs, marks := map[place][]string{}, map[place]string{}
	for _, r := range rights {
		if r.Namespace != namespace {
			continue
		}
		p := place{r.Group, r.Resource, r.Name}
		if verbs[p] == nil {
			order = append(order, p)
		}
		verbs[p] = append(verbs[p], r.Verb)
		if slices.Contains(missing, r) {
			marks[p] = "  # missing"
		}
	}
	var out []string
	for _, p := range order {
		name := ""
		if p.name != "" {
			name = fmt.Sprintf(", resourceNames: [%s]", p.name)
		}
		out = append(out, fmt.Sprintf("- {apiGroups: [%q], resources: [%s]%s, verbs: [%s]}%s\n", p.group, p.resource, name,
			strings.Join(verbs[p], ", "), marks[p]))
	}
	return out
}
