package gather

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// isForbidden says whether the API server refused a request: for lack of a right, or by admission.
func isForbidden(err error) bool { return apierrors.IsForbidden(err) }

// isRefused says whether a request cannot be made at all on this server.
func isRefused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// refusedPod says why a pod was not let in, and what to do. That the right is there was asked before, so admission has refused it.
func (g *Gatherer) refusedPod(err error) error {
	namespace := g.Namespace
	text := err.Error()
	switch {
	case strings.Contains(text, "violates PodSecurity"):
		return fmt.Errorf("the pod security of namespace %[1]s refuses the pod: %[2]w\nlet it in with: kubectl label namespace %[1]s "+
			"pod-security.kubernetes.io/enforce=privileged --overwrite\nor name a namespace that has the label: --pod-namespace NAME",
			namespace, err)
	case strings.Contains(text, "cannot create resource"):
		return g.asMissing(err, Right{Verb: "create", Resource: "pods", Namespace: namespace})
	case strings.Contains(text, "exceeded quota"):
		return fmt.Errorf("the quota of namespace %s refuses the pod: %w\nname another namespace: --pod-namespace NAME", namespace, err)
	}
	return fmt.Errorf("the cluster does not admit the pod to namespace %s: %w\na policy of the cluster refuses it: name a namespace that the "+
		"policy leaves out: --pod-namespace NAME", namespace, err)
}
