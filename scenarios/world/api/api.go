package api

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// API holds a cluster's objects and tells proxiers of them.
type API struct {
	store     *Store
	informers *config.Informers
	fence     *fence
	ranges    ranges
}

// New makes an API that holds the objects, of several with one name the last. Its
// informers, which log to the logger, end with the context.
func New(ctx context.Context, objects []manifest.Object, logger klog.Logger) (*API, error) {
	store, err := NewStore(objects)
	if err != nil {
		return nil, err
	}
	// Informers are told of no object that is deleted after they have listed and before their watch stands.
	stands := make(chan struct{}, watchedKinds)
	readers := store.readers(func() {
		select {
		case stands <- struct{}{}:
		default:
		}
	})
	informers, err := config.Watch(ctx, readers, config.Options{Logger: logger})
	if err != nil {
		return nil, err
	}
	for range watchedKinds {
		if err := await(ctx, nil, stands); err != nil {
			return nil, fmt.Errorf("wait until all watches stand: %w", err)
		}
	}
	a := &API{store: store, informers: informers, fence: &fence{store: store, ended: ctx.Done()}}
	for _, o := range lastOfEach(objects) {
		if one, is := o.Object.(*networkingv1.ServiceCIDR); is {
			a.ranges.put(one)
		}
	}
	return a, nil
}

// lastOfEach are the objects that are left if all are applied in order.
func lastOfEach(given []manifest.Object) []manifest.Object {
	var objects []manifest.Object
	places := map[manifest.Ref]int{}
	for _, o := range given {
		ref := o.Ref()
		if _, ok := o.Object.(*corev1.Node); ok {
			ref = manifest.Ref{Kind: "Node", Name: o.Meta().GetName()} // a Node may come without its kind
		}
		if place, ok := places[ref]; ok {
			objects[place] = o
			continue
		}
		places[ref] = len(objects)
		objects = append(objects, o)
	}
	return objects
}

// Node returns the Node object of that name.
func (a *API) Node(_ context.Context, name string) (*corev1.Node, error) {
	node, err := a.store.byKind["Node"].get(types.NamespacedName{Name: name})
	if err != nil {
		return nil, err
	}
	return node.(*corev1.Node), nil
}

// Feed tells a proxier what is there, and from then on what changes, until remove is called.
func (a *API) Feed(ctx context.Context, proxy config.Handler) (remove func(), err error) {
	forget := a.ranges.feed(proxy)
	stop, err := a.fence.add(ctx, a.informers, proxy)
	if err != nil {
		forget()
		return nil, err
	}
	return func() {
		forget()
		stop()
	}, nil
}

// writesPerDelivery keeps a burst of writes below what a store's
// watches hold: k8s.io/apimachinery/pkg/watch.DefaultChanSize events. They panic
// beyond.
const writesPerDelivery = 50

// Apply writes objects and waits until every proxier has them.
func (a *API) Apply(ctx context.Context, objects []manifest.Object) error {
	return a.each(ctx, len(objects), func(i int) error {
		if one, is := objects[i].Object.(*networkingv1.ServiceCIDR); is {
			a.ranges.put(one)
		}
		return a.store.put(objects[i])
	})
}

// Delete deletes objects and waits until every proxier knows.
func (a *API) Delete(ctx context.Context, refs []manifest.Ref) error {
	return a.each(ctx, len(refs), func(i int) error {
		if err := a.store.remove(refs[i]); err != nil {
			return fmt.Errorf("delete %s: %w", refs[i], err)
		}
		if refs[i].Kind == "ServiceCIDR" {
			a.ranges.remove(refs[i].Name)
		}
		return nil
	})
}

// each makes a number of writes and waits until they are delivered.
func (a *API) each(ctx context.Context, writes int, write func(int) error) error {
	for i := range writes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := write(i); err != nil {
			return err
		}
		if i%writesPerDelivery == writesPerDelivery-1 {
			if err := a.fence.wait(ctx); err != nil {
				return err
			}
		}
	}
	return a.fence.wait(ctx)
}
