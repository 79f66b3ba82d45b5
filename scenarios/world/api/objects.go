package api

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// writer is the part of a typed client that put uses.
type writer[T any] interface {
	Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error)
	Update(ctx context.Context, object T, options metav1.UpdateOptions) (T, error)
}

// put creates an object, or replaces it with its status.
func put(ctx context.Context, client kubernetes.Interface, o manifest.Object) error {
	var err error
	namespace := o.Meta().GetNamespace()
	switch obj := o.Object.(type) {
	case *corev1.Service:
		err = write(ctx, client.CoreV1().Services(namespace), obj.DeepCopy())
	case *discoveryv1.EndpointSlice:
		err = write(ctx, client.DiscoveryV1().EndpointSlices(namespace), obj.DeepCopy())
	case *corev1.Node:
		err = write(ctx, client.CoreV1().Nodes(), obj.DeepCopy())
	case *corev1.Pod:
		err = write(ctx, client.CoreV1().Pods(namespace), obj.DeepCopy())
	case *corev1.Namespace:
		err = write(ctx, client.CoreV1().Namespaces(), obj.DeepCopy())
	case *corev1.ConfigMap:
		err = write(ctx, client.CoreV1().ConfigMaps(namespace), obj.DeepCopy())
	default:
		err = fmt.Errorf("objects of type %T are not supported", o.Object)
	}
	if err != nil {
		return fmt.Errorf("apply %s: %w", o.Ref(), err)
	}
	return nil
}

func write[T any](ctx context.Context, to writer[T], object T) error {
	_, err := to.Create(ctx, object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = to.Update(ctx, object, metav1.UpdateOptions{})
	}
	return err
}

func remove(ctx context.Context, client kubernetes.Interface, ref manifest.Ref) error {
	options := metav1.DeleteOptions{}
	switch ref.Kind {
	case "Service":
		return client.CoreV1().Services(ref.Namespace).Delete(ctx, ref.Name, options)
	case "EndpointSlice":
		return client.DiscoveryV1().EndpointSlices(ref.Namespace).Delete(ctx, ref.Name, options)
	case "Node":
		return client.CoreV1().Nodes().Delete(ctx, ref.Name, options)
	case "Pod":
		return client.CoreV1().Pods(ref.Namespace).Delete(ctx, ref.Name, options)
	case "Namespace":
		return client.CoreV1().Namespaces().Delete(ctx, ref.Name, options)
	case "ConfigMap":
		return client.CoreV1().ConfigMaps(ref.Namespace).Delete(ctx, ref.Name, options)
	}
	return fmt.Errorf("objects of kind %s are not supported", ref.Kind)
}
