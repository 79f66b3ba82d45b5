package config

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// errStopped says that the informers no longer run.
var errStopped = errors.New("the informers were stopped")

// Options says what to watch.
type Options struct {
	// NodeName limits Nodes to this one. If it is empty, all are watched,
	// which is what several proxiers on one set of informers need.
	NodeName string
	// ResyncPeriod is how often handlers are given everything again as
	// updates. 0 means never.
	ResyncPeriod time.Duration
	// Logger gets what this package and client-go's informers log. The zero value
	// is silent.
	Logger klog.Logger
}

// Informers watch the API for any number of consumers.
type Informers struct {
	stopped  <-chan struct{}
	services *informer[*v1.Service]
	slices   *informer[*discovery.EndpointSlice]
	nodes    *informer[*v1.Node]

	lock          sync.Mutex
	registrations map[*Registration]struct{}
}

// Watch starts informers that run until ctx is done. It returns when they hold
// what the API holds and all watches stand, so that no later event is missed. As
// long as the API cannot be read, it tries again.
func Watch(ctx context.Context, client kubernetes.Interface, options Options) (*Informers, error) {
	ctx = klog.NewContext(ctx, options.Logger)
	i := &Informers{
		stopped:       ctx.Done(),
		services:      newInformer(services(client), options),
		slices:        newInformer(endpointSlices(client), options),
		nodes:         newInformer(nodes(client, options.NodeName), options),
		registrations: map[*Registration]struct{}{},
	}
	i.services.start(ctx)
	i.slices.start(ctx)
	i.nodes.start(ctx)
	for _, ready := range [][]<-chan struct{}{i.services.ready(), i.slices.ready(), i.nodes.ready()} {
		for _, done := range ready {
			if err := i.await(ctx, done); err != nil {
				return nil, fmt.Errorf("read the first state of the API: %w", err)
			}
		}
	}
	return i, nil
}

// Registration is one consumer's place among the informers.
type Registration struct {
	informers  *Informers
	deliveries []delivery
}

// delivery is one consumer's share of one kind.
type delivery interface {
	// synced is closed when the handler has everything that was there first.
	synced() <-chan struct{}
	// reached is closed when the handler has everything before the marker.
	reached(ticket int64) <-chan struct{}
	remove()
}

// AddConsumer attaches a handler, gives it all that the API holds, calls its
// On...Synced methods and returns. Events can arrive from the start of the call.
func (i *Informers) AddConsumer(ctx context.Context, handler Handler) (*Registration, error) {
	registration := &Registration{informers: i}
	if err := registration.attach(handler); err != nil {
		registration.Remove()
		return nil, err
	}
	for _, d := range registration.deliveries {
		if err := i.await(ctx, d.synced()); err != nil {
			registration.Remove()
			return nil, fmt.Errorf("give a new consumer what the API holds: %w", err)
		}
	}
	handler.OnNodeSynced()
	handler.OnServiceSynced()
	handler.OnEndpointSlicesSynced()
	i.lock.Lock()
	defer i.lock.Unlock()
	i.registrations[registration] = struct{}{}
	return registration, nil
}

// attach registers the handler for each kind. The order of the deliveries is
// that of Informers.mark.
func (r *Registration) attach(handler Handler) error {
	services, err := r.informers.services.attach(callbacks[*v1.Service]{
		add: handler.OnServiceAdd, update: handler.OnServiceUpdate, remove: handler.OnServiceDelete,
	})
	if err != nil {
		return err
	}
	r.deliveries = append(r.deliveries, services)
	slices, err := r.informers.slices.attach(callbacks[*discovery.EndpointSlice]{
		add: handler.OnEndpointSliceAdd, update: handler.OnEndpointSliceUpdate, remove: handler.OnEndpointSliceDelete,
	})
	if err != nil {
		return err
	}
	r.deliveries = append(r.deliveries, slices)
	nodes, err := r.informers.nodes.attach(callbacks[*v1.Node]{
		add: handler.OnNodeAdd, update: handler.OnNodeUpdate, remove: handler.OnNodeDelete,
	})
	if err != nil {
		return err
	}
	r.deliveries = append(r.deliveries, nodes)
	return nil
}

// Remove detaches the consumer. When it returns, no handler method runs and none
// will be called any more, so a handler must not call it itself.
func (r *Registration) Remove() {
	for _, d := range r.deliveries {
		d.remove()
	}
	r.informers.lock.Lock()
	defer r.informers.lock.Unlock()
	delete(r.informers.registrations, r)
}

// WaitDelivered waits until every consumer that AddConsumer has returned for has
// handled all events that had reached this process before the call.
func (i *Informers) WaitDelivered(ctx context.Context) error {
	waiting := i.consumers()
	tickets := i.mark()
	for _, registration := range waiting {
		for n, d := range registration.deliveries {
			if err := i.await(ctx, d.reached(tickets[n])); err != nil {
				return fmt.Errorf("wait until events are delivered: %w", err)
			}
		}
	}
	return nil
}

func (i *Informers) consumers() []*Registration {
	i.lock.Lock()
	defer i.lock.Unlock()
	waiting := make([]*Registration, 0, len(i.registrations))
	for registration := range i.registrations {
		waiting = append(waiting, registration)
	}
	return waiting
}

// mark puts a marker behind what each watch has received.
func (i *Informers) mark() [3]int64 {
	return [3]int64{i.services.stream.mark(), i.slices.stream.mark(), i.nodes.stream.mark()}
}

// await returns when the channel is closed, and an error if ctx or the informers
// end before that.
func (i *Informers) await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-i.stopped:
		return errStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}
