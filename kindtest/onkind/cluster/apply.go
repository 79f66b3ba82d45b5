package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// apply makes an object as it is given, or makes one that is there like it, by server-side apply.
func (m *members) apply(ctx context.Context, object runtime.Object) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: "chainwalk", Force: ptr.To(true)}
	const how = types.ApplyPatchType
	switch o := object.(type) {
	case *corev1.ConfigMap:
		_, err = m.client.ConfigMaps(o.Namespace).Patch(ctx, o.Name, how, text, options)
	case *corev1.ServiceAccount:
		_, err = m.client.ServiceAccounts(o.Namespace).Patch(ctx, o.Name, how, text, options)
	case *corev1.Pod:
		_, err = m.client.Pods(o.Namespace).Patch(ctx, o.Name, how, text, options)
	case *rbacv1.ClusterRoleBinding:
		_, err = m.client.ClusterRoleBindings().Patch(ctx, o.Name, how, text, options)
	case *appsv1.DaemonSet:
		_, err = m.client.DaemonSets(o.Namespace).Patch(ctx, o.Name, how, text, options)
	default:
		panic(fmt.Sprintf("cluster: %T is not among the objects that are applied", object))
	}
	return err
}
