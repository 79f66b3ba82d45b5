package config

import (
	"context"
	"fmt"
	"slices"

	networking "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// ServiceCIDRHandler is told the ranges that cluster IPs come from.
type ServiceCIDRHandler interface {
	// OnServiceCIDRsChanged gets the ranges of all ServiceCIDRs as the objects
	// spell them, sorted and each once. Calls are made one by one.
	OnServiceCIDRsChanged(cidrs []string)
}

// WatchServiceCIDRs tells the handler the ranges of all ServiceCIDRs (KEP 1880),
// soon and whenever they change, until ctx is done. It does not wait for the
// first ones. An API server that does not know ServiceCIDRs is no error, and the
// handler is never called.
func WatchServiceCIDRs(ctx context.Context, api API, handler ServiceCIDRHandler) error {
	served, err := servesServiceCIDRs(api.Groups)
	if err != nil || !served {
		return err
	}
	informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return api.ServiceCIDRs.List(ctx, options)
		},
		WatchFuncWithContext: api.ServiceCIDRs.Watch,
	}, api), &networking.ServiceCIDR{}, 0, cache.Indexers{})
	w := &serviceCIDRs{store: informer.GetStore(), handler: handler}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { w.changed() },
		UpdateFunc: func(any, any) { w.changed() },
		DeleteFunc: func(any) { w.changed() },
	})
	if err != nil {
		return fmt.Errorf("watch ServiceCIDRs: %w", err)
	}
	go informer.RunWithContext(ctx)
	return nil
}

// servesServiceCIDRs asks the API server what it knows.
func servesServiceCIDRs(server Groups) (bool, error) {
	version := networking.SchemeGroupVersion.String()
	list, err := server.ServerResourcesForGroupVersion(version)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask for the resources of %s: %w", version, err)
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == "servicecidrs" }), nil
}

// serviceCIDRs is one watch. Its informer calls changed from one goroutine.
type serviceCIDRs struct {
	store   cache.Store
	handler ServiceCIDRHandler
	last    []string
}

// changed looks at all objects: there are few.
func (w *serviceCIDRs) changed() {
	var cidrs []string
	for _, one := range w.store.List() {
		cidrs = append(cidrs, one.(*networking.ServiceCIDR).Spec.CIDRs...)
	}
	slices.Sort(cidrs)
	cidrs = slices.Compact(cidrs)
	if slices.Equal(cidrs, w.last) {
		return
	}
	w.last = cidrs
	w.handler.OnServiceCIDRsChanged(slices.Clone(cidrs))
}
