package config

import (
	"context"
	"fmt"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	stream *stream
	logger klog.Logger
}

func newInformer[T object](k kind[T], options Options) *informer[T] {
	s := newStream(k.marker)
	watched := listWatch{list: k.list, watch: k.watch, stream: s, logger: options.Logger}
	shared := cache.NewSharedIndexInformer(watched, k.example, options.ResyncPeriod, cache.Indexers{})
	_ = shared.SetTransform(withoutManagedFields) // which only one that runs refuses
	return &informer[T]{kind: k, shared: shared, stream: s, logger: options.Logger}
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

// ready returns channels that are closed when the store is filled and the watch
// stands.
func (i *informer[T]) ready() []<-chan struct{} {
	return []<-chan struct{}{i.shared.HasSyncedChecker().Done(), i.stream.established}
}

// callbacks are a consumer's methods for one kind.
type callbacks[T object] struct {
	add    func(T)
	update func(old, current T)
	remove func(T)
}

func (i *informer[T]) attach(on callbacks[T]) (delivery, error) {
	d := &kindDelivery[T]{informer: i, on: on, gate: newGate()}
	registered, err := i.shared.AddEventHandlerWithOptions(d, cache.HandlerOptions{Logger: &i.logger})
	if err != nil {
		return nil, err
	}
	d.registered = registered
	return d, nil
}

// kindDelivery stands between a shared informer and one consumer. It implements
// cache.ResourceEventHandler.
type kindDelivery[T object] struct {
	informer   *informer[T]
	registered cache.ResourceEventHandlerRegistration
	gate       *gate

	// lock is held while a callback runs.
	lock    sync.Mutex
	on      callbacks[T]
	removed bool
}

// OnAdd implements cache.ResourceEventHandler.
func (d *kindDelivery[T]) OnAdd(obj any, _ bool) {
	current, ok := obj.(T)
	if !ok {
		d.logUnexpected(obj)
		return
	}
	if isMarker(current) {
		d.gate.reach(current.GetGeneration())
		return
	}
	d.deliver(func() {
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
	d.deliver(func() {
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
	d.deliver(func() {
		if !isMarker(old) && d.keep(old) {
			d.on.remove(old)
		}
	})
}

func (d *kindDelivery[T]) keep(obj T) bool { return d.informer.kind.keep(obj) }

// deliver runs the callback unless the consumer has gone.
func (d *kindDelivery[T]) deliver(call func()) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if !d.removed {
		call()
	}
}

func (d *kindDelivery[T]) synced() <-chan struct{} { return d.registered.HasSyncedChecker().Done() }

func (d *kindDelivery[T]) reached(ticket int64) <-chan struct{} { return d.gate.after(ticket) }

func (d *kindDelivery[T]) remove() {
	if err := d.informer.shared.RemoveEventHandler(d.registered); err != nil {
		d.informer.logger.Error(err, "Removing event handler")
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	d.removed = true
	d.gate.open()
}

func isMarker(obj metav1.Object) bool { return strings.HasPrefix(obj.GetName(), markerPrefix) }

func (d *kindDelivery[T]) logUnexpected(obj any) {
	d.informer.logger.Error(nil, "Unexpected object in an informer's event", "type", fmt.Sprintf("%T", obj))
}
