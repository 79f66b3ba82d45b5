package config

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// object is what all watched kinds have in common.
type object interface {
	metav1.Object
	runtime.Object
}

// informer is a shared informer of one kind.
type informer[T object] struct {
	kind   kind[T]
	shared cache.SharedIndexInformer
	logger klog.Logger
}

func newInformer[T object](api API, k kind[T], options Options) *informer[T] {
	watched := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: k.list, WatchFuncWithContext: logged(k.watch, options.Logger),
	}, api)
	shared := cache.NewSharedIndexInformer(watched, k.example, options.ResyncPeriod, cache.Indexers{})
	_ = shared.SetTransform(withoutManagedFields) // which only one that runs refuses
	return &informer[T]{kind: k, shared: shared, logger: options.Logger}
}

// logged tells the log of watches that cannot be had. A reflector that resumes a
// watch says nothing for as long as nobody listens.
func logged(watched cache.WatchFuncWithContext, logger klog.Logger) cache.WatchFuncWithContext {
	return func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		events, err := watched(ctx, options)
		if err != nil && ctx.Err() == nil {
			logger.Error(err, "The API server cannot be asked for changes; the rules stay as they are")
		}
		return events, err
	}
}

// withoutManagedFields takes from an object who has written which of its fields, which is a good part of what it takes to keep it.
func withoutManagedFields(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

func (i *informer[T]) start(ctx context.Context) {
	go i.shared.RunWithContext(ctx)
}

// ready returns a channel that is closed when the store is filled.
func (i *informer[T]) ready() <-chan struct{} { return i.shared.HasSyncedChecker().Done() }

// callbacks are a consumer's methods for one kind.
type callbacks[T object] struct {
	add    func(T)
	update func(old, current T)
	remove func(T)
}

func (i *informer[T]) attach(on callbacks[T]) (delivery, error) {
	d := &kindDelivery[T]{informer: i, on: on, progress: newProgress()}
	registered, err := i.shared.AddEventHandlerWithOptions(d, cache.HandlerOptions{Logger: &i.logger})
	if err != nil {
		return nil, err
	}
	d.registered = registered
	d.progress.await(i.shared.GetStore().ListKeys())
	return d, nil
}

// kindDelivery stands between a shared informer and one consumer. It implements
// cache.ResourceEventHandler.
type kindDelivery[T object] struct {
	informer   *informer[T]
	registered cache.ResourceEventHandlerRegistration

	// lock is held while a callback runs.
	lock    sync.Mutex
	on      callbacks[T]
	removed bool

	progress *progress
}

// OnAdd implements cache.ResourceEventHandler.
func (d *kindDelivery[T]) OnAdd(obj any, _ bool) {
	current, ok := obj.(T)
	if !ok {
		d.logUnexpected(obj)
		return
	}
	d.deliver(current, func() {
		if d.keep(current) {
			d.on.add(current)
		}
	})
}

// OnUpdate implements cache.ResourceEventHandler.
func (d *kindDelivery[T]) OnUpdate(oldObj, obj any) {
	old, oldOK := oldObj.(T)
	current, ok := obj.(T)
	if !oldOK || !ok {
		d.logUnexpected(obj)
		return
	}
	d.deliver(current, func() {
		switch had, has := d.keep(old), d.keep(current); {
		case had && has:
			d.on.update(old, current)
		case had:
			d.on.remove(old)
		case has:
			d.on.add(current)
		}
	})
}

// OnDelete implements cache.ResourceEventHandler. A deletion that was missed
// while the watch was down comes as a tombstone with the last known object.
func (d *kindDelivery[T]) OnDelete(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	old, ok := obj.(T)
	if !ok {
		d.logUnexpected(obj)
		return
	}
	d.deliver(old, func() {
		if d.keep(old) {
			d.on.remove(old)
		}
	})
}

func (d *kindDelivery[T]) keep(obj T) bool { return d.informer.kind.keep(obj) }

// deliver runs the callback for an object unless the consumer has gone.
func (d *kindDelivery[T]) deliver(obj T, call func()) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if !d.removed {
		call()
	}
	d.progress.delivered(obj)
}

func (d *kindDelivery[T]) synced() <-chan struct{} { return d.progress.complete }

func (d *kindDelivery[T]) remove() {
	if err := d.informer.shared.RemoveEventHandler(d.registered); err != nil {
		d.informer.logger.Error(err, "Removing event handler")
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	d.removed = true
}

func (d *kindDelivery[T]) logUnexpected(obj any) {
	d.informer.logger.Error(nil, "Unexpected object in an informer's event", "type", fmt.Sprintf("%T", obj))
}
