package config

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
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
}

// Watch starts informers that run until ctx is done. It returns when they hold
// what the API holds. As long as the API cannot be read, it tries again.
func Watch(ctx context.Context, api API, options Options) (*Informers, error) {
	ctx = klog.NewContext(ctx, options.Logger)
	i := &Informers{
		stopped:  ctx.Done(),
		services: newInformer(api, services(api.Services), options),
		slices:   newInformer(api, endpointSlices(api.EndpointSlices), options),
		nodes:    newInformer(api, nodes(api.Nodes, options.NodeName), options),
	}
	i.services.start(ctx)
	i.slices.start(ctx)
	i.nodes.start(ctx)
	for _, ready := range []<-chan struct{}{i.services.ready(), i.slices.ready(), i.nodes.ready()} {
		if err := i.await(ctx, ready); err != nil {
			return nil, fmt.Errorf("read the first state of the API: %w", err)
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
	remove()
}

// AddConsumer attaches a handler, gives it all that the API holds, calls its
// On...Synced methods and returns. Events can arrive from the start of the call.
func (i *Informers) AddConsumer(ctx context.Context, handler Handler) (*Registration, error) {
	registration := &Registration{informers: i}
	if err := registration.attach(handler); err != nil {
		registration.Remove()
		if i.isStopped() { // an informer that has ended takes nobody any more
			return nil, fmt.Errorf("%w: %w", errStopped, err)
		}
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
	return registration, nil
}

// attach registers the handler for each kind.
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
}

// isStopped says whether the informers were told to end.
func (i *Informers) isStopped() bool {
	select {
	case <-i.stopped:
		return true
	default:
		return false
	}
}

// await returns when the channel is closed, and an error if ctx or the informers
// have ended by then.
func (i *Informers) await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		if i.isStopped() {
			return errStopped
		}
		return nil
	case <-i.stopped:
		return errStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}
