package kind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/kindtest/onkind/apiclient"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

// writer writes a scenario's objects to the API server and remembers them.
type writer struct {
	client apiclient.Client
	made   []manifest.Ref
	labels labels
}

// labels are the labels of Node objects before any scenario, by node; nil for a missing one. They are given back when the backend is
// closed, since most scenarios want the same ones.
type labels map[string]map[string]*string

// write creates or replaces objects, several at a time. What is refused because another object still has its address or port is tried
// again when the others are written.
func (w *writer) write(ctx context.Context, objects []runtime.Object) error {
	for _, o := range objects {
		if ref := refOf(o); !slices.Contains(w.made, ref) {
			w.made = append(w.made, ref)
		}
	}
	if err := w.namespaces(ctx, objects); err != nil {
		return err
	}
	for {
		refused := make([]error, len(objects))
		indexes := make([]int, len(objects))
		for i := range indexes {
			indexes[i] = i
		}
		if err := together(indexes, func(i int) error {
			err := w.writeOne(ctx, objects[i])
			if taken(err) {
				refused[i], err = err, nil
			}
			return err
		}); err != nil {
			return err
		}
		var again []runtime.Object
		for i, o := range objects {
			if refused[i] != nil {
				again = append(again, o)
			}
		}
		if len(again) == 0 {
			return nil
		}
		if len(again) == len(objects) {
			return errors.Join(refused...)
		}
		objects = again
	}
}

// taken reports whether an object was refused for what another one has.
func taken(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return strings.Contains(c.Message, "already allocated")
	})
}

func refOf(o runtime.Object) manifest.Ref {
	return manifest.Object{Object: o}.Ref()
}

func (w *writer) writeOne(ctx context.Context, o runtime.Object) error {
	switch object := o.(type) {
	case *corev1.Service:
		return w.service(ctx, object)
	case *discoveryv1.EndpointSlice:
		return replace(ctx, w.client.EndpointSlices(object.Namespace), object)
	case *corev1.ConfigMap:
		return replace(ctx, w.client.ConfigMaps(object.Namespace), object)
	case *corev1.Namespace:
		return w.namespace(ctx, object.Name)
	}
	return fmt.Errorf("%s: objects of this kind are not written", refOf(o))
}

// typed are the calls of a typed client that are needed to replace an object.
type typed[T any] interface {
	Create(ctx context.Context, o T, options metav1.CreateOptions) (T, error)
	Update(ctx context.Context, o T, options metav1.UpdateOptions) (T, error)
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// replace creates an object, or updates the one that is there. What cannot be changed in place is deleted and made again. The client is a
// type parameter, and no value of the interface: for a method that is called through a generic interface, Go's linker keeps the methods of
// this name of all types. kind's Create is one, and much hangs on it (package provision).
func replace[T metav1.Object, C typed[T]](ctx context.Context, c C, o T) error {
	before, err := c.Get(ctx, o.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = c.Create(ctx, o, metav1.CreateOptions{})
		return named(o, err)
	}
	if err != nil {
		return named(o, err)
	}
	o.SetResourceVersion(before.GetResourceVersion())
	_, err = c.Update(ctx, o, metav1.UpdateOptions{})
	o.SetResourceVersion("")
	if !apierrors.IsInvalid(err) || taken(err) {
		return named(o, err)
	}
	if err := c.Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil {
		return named(o, err)
	}
	_, err = c.Create(ctx, o, metav1.CreateOptions{})
	return named(o, err)
}

func named(o metav1.Object, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write %s/%s: %w", o.GetNamespace(), o.GetName(), err)
}

// service writes a service, and its status, which is written apart.
func (w *writer) service(ctx context.Context, s *corev1.Service) error {
	services := w.client.Services(s.Namespace)
	if err := replace(ctx, services, s); err != nil {
		return err
	}
	there, err := services.Get(ctx, s.Name, metav1.GetOptions{})
	if err != nil {
		return named(s, err)
	}
	if equality.Semantic.DeepEqual(there.Status.LoadBalancer, s.Status.LoadBalancer) {
		return nil
	}
	there.Status = s.Status
	_, err = services.UpdateStatus(ctx, there, metav1.UpdateOptions{})
	return named(s, err)
}

// namespaces makes those that objects are in.
func (w *writer) namespaces(ctx context.Context, objects []runtime.Object) error {
	var names []string
	for _, o := range objects {
		if ref := refOf(o); ref.Namespace != "" && !slices.Contains(names, ref.Namespace) {
			names = append(names, ref.Namespace)
		}
	}
	return together(names, func(name string) error { return w.namespace(ctx, name) })
}

// namespace makes a namespace that is not there. It stays: to delete one takes long.
func (w *writer) namespace(ctx context.Context, name string) error {
	if name == metav1.NamespaceDefault || name == metav1.NamespaceSystem {
		return nil
	}
	_, err := w.client.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// remove deletes objects. One that is not there is an error.
func (w *writer) remove(ctx context.Context, refs []manifest.Ref) error {
	w.made = slices.DeleteFunc(w.made, func(ref manifest.Ref) bool { return slices.Contains(refs, ref) })
	return together(refs, func(ref manifest.Ref) error {
		if err := w.removeOne(ctx, ref); err != nil {
			return fmt.Errorf("delete %s: %w", ref, err)
		}
		return nil
	})
}

func (w *writer) removeOne(ctx context.Context, ref manifest.Ref) error {
	now := metav1.DeleteOptions{}
	switch ref.Kind {
	case "Service":
		return w.client.Services(ref.Namespace).Delete(ctx, ref.Name, now)
	case "EndpointSlice":
		return w.client.EndpointSlices(ref.Namespace).Delete(ctx, ref.Name, now)
	case "ConfigMap":
		return w.client.ConfigMaps(ref.Namespace).Delete(ctx, ref.Name, now)
	case "Namespace":
		return nil // it stays
	}
	return errors.New("objects of this kind are not deleted")
}

// removeAll deletes what is left of the scenario, and looks that nothing is.
func (w *writer) removeAll(ctx context.Context) error {
	made := w.made
	w.made = nil
	if err := together(made, func(ref manifest.Ref) error { return gone(w.removeOne(ctx, ref)) }); err != nil {
		return err
	}
	marked := metav1.ListOptions{LabelSelector: sessionLabel + "=true"}
	services, err := w.client.Services(metav1.NamespaceAll).List(ctx, marked)
	if err != nil {
		return err
	}
	endpointSlices, err := w.client.EndpointSlices(metav1.NamespaceAll).List(ctx, marked)
	if err != nil {
		return err
	}
	written := slices.DeleteFunc(endpointSlices.Items,
		func(s discoveryv1.EndpointSlice) bool { return s.Labels[discoveryv1.LabelManagedBy] == controller.Name })
	if left := len(services.Items) + len(written); left > 0 {
		return fmt.Errorf("%d objects of the scenario are left in the API server", left)
	}
	return removeMade(ctx, w.client)
}

// removeMade deletes the slices that the cluster's controller has made for services that are gone, which otherwise the garbage collector
// does in its own time.
func removeMade(ctx context.Context, client apiclient.Client) error {
	made := metav1.ListOptions{LabelSelector: sessionLabel + "=true," + discoveryv1.LabelManagedBy + "=" + controller.Name}
	return poll(ctx, func() (pending string, err error) {
		list, err := client.EndpointSlices(metav1.NamespaceAll).List(ctx, made)
		if err != nil || len(list.Items) == 0 {
			return "", err
		}
		return fmt.Sprintf("%d endpoint slices of the cluster's controller are left", len(list.Items)),
			together(list.Items, func(s discoveryv1.EndpointSlice) error {
				return gone(client.EndpointSlices(s.Namespace).Delete(ctx, s.Name, metav1.DeleteOptions{}))
			})
	})
}

// label gives a Node object these labels, nil for none, and remembers what it had. It says the zone that the node had, and whether
// anything changes.
func (w *writer) label(ctx context.Context, node string, want map[string]*string) (zone string, changed bool, err error) {
	there, err := w.client.Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return "", false, err
	}
	zone = there.Labels[corev1.LabelTopologyZone]
	patch := map[string]*string{}
	for key, value := range want {
		now, has := there.Labels[key]
		if value == nil && !has || value != nil && has && *value == now {
			continue
		}
		patch[key] = value
		if w.labels[node] == nil {
			w.labels[node] = map[string]*string{}
		}
		if _, known := w.labels[node][key]; known {
			continue
		}
		w.labels[node][key] = nil
		if has {
			w.labels[node][key] = &now
		}
	}
	if len(patch) == 0 {
		return zone, false, nil
	}
	return zone, true, w.patchLabels(ctx, node, patch)
}

func (w *writer) patchLabels(ctx context.Context, node string, labels map[string]*string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	if err != nil {
		return err
	}
	_, err = w.client.Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// restoreLabels gives Node objects the labels back that they had before any scenario.
func (w *writer) restoreLabels(ctx context.Context) error {
	var errs []error
	for node, before := range w.labels {
		errs = append(errs, w.patchLabels(ctx, node, before))
	}
	clear(w.labels)
	return errors.Join(errs...)
}
