package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/proxier/config"
)

// errEnded says that the informers no longer run.
var errEnded = errors.New("the informers of the API have ended")

// watchedKinds is how many kinds the informers watch.
const watchedKinds = 3

// markerPrefix begins the name of a marker object. No API object can have such a
// name.
const markerPrefix = "//marker/"

// fence knows when every proxier was told of all that was written before. It writes
// a marker of each kind, an object that is added and at once deleted again: a marker
// takes the same way through watch, store and queues as what was written before it,
// and behind it. No clock is involved and nothing is polled.
type fence struct {
	store *Store
	ended <-chan struct{} // closed when the informers end

	// waiting is held while somebody waits, of whom there is one at a time, and while
	// a proxier comes or goes.
	waiting sync.Mutex
	fenced  int // the proxiers behind the fence
	tickets int

	lock sync.Mutex
	// name is that of the markers that are awaited, and arrived has room for all of them.
	name    string
	arrived chan struct{}
}

// fenced is a proxier behind a fence. It gets everything but the markers.
type fenced struct {
	config.Handler
	fence *fence
}

func (f *fenced) OnServiceAdd(service *corev1.Service) {
	if !f.fence.reach(service) {
		f.Handler.OnServiceAdd(service)
	}
}

func (f *fenced) OnServiceDelete(service *corev1.Service) {
	if !isMarker(service) {
		f.Handler.OnServiceDelete(service)
	}
}

func (f *fenced) OnEndpointSliceAdd(slice *discovery.EndpointSlice) {
	if !f.fence.reach(slice) {
		f.Handler.OnEndpointSliceAdd(slice)
	}
}

func (f *fenced) OnEndpointSliceDelete(slice *discovery.EndpointSlice) {
	if !isMarker(slice) {
		f.Handler.OnEndpointSliceDelete(slice)
	}
}

func (f *fenced) OnNodeAdd(node *corev1.Node) {
	if !f.fence.reach(node) {
		f.Handler.OnNodeAdd(node)
	}
}

func (f *fenced) OnNodeDelete(node *corev1.Node) {
	if !isMarker(node) {
		f.Handler.OnNodeDelete(node)
	}
}

func isMarker(o metav1.Object) bool { return strings.HasPrefix(o.GetName(), markerPrefix) }

// reach notes that a proxier has come to a marker, and says whether it is one. A
// marker that nobody awaits any longer is left over from a wait that was given up.
func (f *fence) reach(o metav1.Object) bool {
	if !isMarker(o) {
		return false
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	if o.GetName() == f.name {
		f.arrived <- struct{}{}
	}
	return true
}

// add puts a proxier behind the fence.
func (f *fence) add(ctx context.Context, informers *config.Informers, proxy config.Handler) (remove func(), err error) {
	f.waiting.Lock()
	defer f.waiting.Unlock()
	registration, err := informers.AddConsumer(ctx, &fenced{proxy, f})
	if err != nil {
		return nil, err
	}
	f.fenced++
	return sync.OnceFunc(func() {
		f.waiting.Lock()
		defer f.waiting.Unlock()
		registration.Remove()
		f.fenced--
	}), nil
}

// wait returns when every proxier has handled all that was written before the call.
func (f *fence) wait(ctx context.Context) error {
	f.waiting.Lock()
	defer f.waiting.Unlock()
	f.tickets++
	name := fmt.Sprint(markerPrefix, f.tickets)
	arrived := make(chan struct{}, watchedKinds*f.fenced)
	f.lock.Lock()
	f.name, f.arrived = name, arrived
	f.lock.Unlock()
	if err := f.write(name); err != nil {
		return err
	}
	for range cap(arrived) {
		if err := await(ctx, f.ended, arrived); err != nil {
			return fmt.Errorf("wait until events are delivered: %w", err)
		}
	}
	return nil
}

// write puts the markers behind what each watch was told.
func (f *fence) write(name string) error {
	meta := metav1.ObjectMeta{Name: name}
	for kind, marker := range map[string]object{
		"Service":       &corev1.Service{ObjectMeta: meta},
		"Node":          &corev1.Node{ObjectMeta: meta},
		"EndpointSlice": &discovery.EndpointSlice{ObjectMeta: meta},
	} {
		f.store.byKind[kind].put(marker)
		if err := f.store.byKind[kind].remove(types.NamespacedName{Name: name}); err != nil {
			return fmt.Errorf("mark the end of what was written: %w", err)
		}
	}
	return nil
}

// await returns when something comes, and an error if ctx or the informers end
// before that.
func await(ctx context.Context, ended, comes <-chan struct{}) error {
	select {
	case <-comes:
		return nil
	case <-ended:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}
