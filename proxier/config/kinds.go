package config

import (
	"context"
	"strings"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/chainwalk/chainwalk/proxier/internal/changes"
)

// kind says how objects of one kind are read and which of them count.
type kind[T object] struct {
	example T
	list    func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch   func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// keep says the same of one object as the selectors say to the API server.
	keep func(T) bool
}

// services leaves out what another proxy serves and what is headless, which DNS
// alone serves.
func services(all Reader[*v1.ServiceList]) kind[*v1.Service] {
	selected := func(options metav1.ListOptions) metav1.ListOptions {
		options.LabelSelector = without(changes.LabelServiceProxyName)
		options.FieldSelector = fields.OneTermNotEqualSelector("spec.clusterIP", v1.ClusterIPNone).String()
		return options
	}
	return kind[*v1.Service]{
		example: &v1.Service{},
		list: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return all.List(ctx, selected(options))
		},
		watch: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return all.Watch(ctx, selected(options))
		},
		keep: keepService,
	}
}

// endpointSlices leaves out the slices of the Services that services leaves out.
func endpointSlices(all Reader[*discovery.EndpointSliceList]) kind[*discovery.EndpointSlice] {
	selected := func(options metav1.ListOptions) metav1.ListOptions {
		options.LabelSelector = without(changes.LabelServiceProxyName, v1.IsHeadlessService)
		return options
	}
	return kind[*discovery.EndpointSlice]{
		example: &discovery.EndpointSlice{},
		list: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return all.List(ctx, selected(options))
		},
		watch: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return all.Watch(ctx, selected(options))
		},
		keep: keepEndpointSlice,
	}
}

// nodes watches one Node, or all of them if name is empty.
func nodes(all Reader[*v1.NodeList], name string) kind[*v1.Node] {
	selected := func(options metav1.ListOptions) metav1.ListOptions {
		if name != "" {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}
		return options
	}
	return kind[*v1.Node]{
		example: &v1.Node{},
		list: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return all.List(ctx, selected(options))
		},
		watch: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return all.Watch(ctx, selected(options))
		},
		keep: func(node *v1.Node) bool { return name == "" || node.Name == name },
	}
}

// without returns the selector of objects that have none of the labels.
func without(labels ...string) string {
	return "!" + strings.Join(labels, ",!")
}

func hasAny(obj metav1.Object, labels ...string) bool {
	for _, label := range labels {
		if _, ok := obj.GetLabels()[label]; ok {
			return true
		}
	}
	return false
}
