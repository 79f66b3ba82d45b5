package gather

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// Right is something that the API server has to allow.
type Right struct {
	// Verb and Resource are those of RBAC: "get" and "pods/log". Group is the API group, empty for the core one.
	Verb, Resource, Group string
	// Namespace is where; empty for the whole cluster. Name is the only object that it is for; empty for all.
	Namespace, Name string
	// Without says what is not known without it. Empty: nothing can be gathered then.
	Without string
}

// String is the right in the words of RBAC: "list endpointslices.discovery.k8s.io in all namespaces".
func (r Right) String() string {
	out := r.Verb + " " + r.Resource
	if r.Group != "" {
		out += "." + r.Group
	}
	if r.Name != "" {
		out += " " + r.Name
	}
	if r.Namespace == "" {
		return out + " in all namespaces"
	}
	return out + " in namespace " + r.Namespace
}

// proxyNamespace and proxyConfig name the ConfigMap that kubeadm makes for kube-proxy.
const proxyNamespace, proxyConfig = "kube-system", "kube-proxy"

// Rights are all that gathering asks for, with the collector's pods in a namespace.
func Rights(namespace string) []Right {
	return []Right{
		{Verb: "list", Resource: "nodes"},
		{Verb: "list", Resource: "services"},
		{Verb: "list", Resource: "endpointslices", Group: "discovery.k8s.io"},
		{Verb: "list", Resource: "pods", Without: "pods that are behind no service are not known"},
		{Verb: "list", Resource: "namespaces", Without: "which namespaces a NetworkPolicy selects is not known"},
		{Verb: "list", Resource: "networkpolicies", Group: "networking.k8s.io", Without: "no NetworkPolicy is named"},
		{Verb: "get", Resource: "configmaps", Namespace: proxyNamespace, Name: proxyConfig, Without: "kube-proxy's configuration is not known"},
		{Verb: "create", Resource: "pods", Namespace: namespace},
		{Verb: "get", Resource: "pods", Namespace: namespace},
		{Verb: "delete", Resource: "pods", Namespace: namespace},
		{Verb: "get", Resource: "pods/log", Namespace: namespace},
	}
}

// cleaningRights are the rights that Clean asks for. Who may list the pods of all namespaces has the first one.
func cleaningRights(namespace string) []Right {
	return []Right{
		{Verb: "list", Resource: "pods", Namespace: namespace},
		{Verb: "delete", Resource: "pods", Namespace: namespace},
	}
}

// MissingError says which rights are missing, with the roles that grant them.
type MissingError struct {
	Rights []Right
	// Namespace is that of the collector's pods.
	Namespace string
}

func (e *MissingError) Error() string {
	var b strings.Builder
	b.WriteString("the API server does not allow it to")
	for i, r := range e.Rights {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, " %s", r)
	}
	fmt.Fprintf(&b, "\ngrant it (kubectl apply -f), and bind it to who runs this:\n\n%s", e.roles())
	return b.String()
}

// roles grant what is missing, and all else that gathering takes.
func (e *MissingError) roles() string {
	all := Rights(e.Namespace)
	for _, r := range e.Rights {
		if !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	return rolesYAML(all, e.Rights)
}

// missing asks the API server which of the rights it does not have. Nothing is changed by asking. A server that answers no such question is
// taken to allow everything: what it then refuses is said all the same.
func (a *API) missing(ctx context.Context, rights []Right) ([]Right, error) {
	var out []Right
	for _, r := range rights {
		resource, sub, _ := strings.Cut(r.Resource, "/")
		allowed, err := a.review(ctx, &authorizationv1.ResourceAttributes{Namespace: r.Namespace, Verb: r.Verb, Group: r.Group,
			Resource: resource, Subresource: sub, Name: r.Name})
		switch {
		case isRefused(err):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("ask the API server what it allows: %w", err)
		case !allowed:
			out = append(out, r)
		}
	}
	return out, nil
}

// checkRights looks before anything is made whether all of it is allowed, its removal too. It returns those missing rights that can be done
// without; any other one is a *MissingError.
func (a *API) checkRights(ctx context.Context, namespace string) ([]Right, error) {
	missing, err := a.missing(ctx, Rights(namespace))
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(missing, func(r Right) bool { return r.Without == "" }) {
		return nil, &MissingError{missing, namespace}
	}
	return missing, nil
}

// asMissing is the error of a request for which a right was missing after all.
func (g *Gatherer) asMissing(err error, rights ...Right) error {
	if !isForbidden(err) {
		return err
	}
	return errors.Join(&MissingError{rights, g.Namespace}, err)
}
