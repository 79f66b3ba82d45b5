package config

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
)

// markerPrefix begins the name of a marker object. No API object can have such a
// name.
const markerPrefix = "//marker/"

// stream puts markers into the watch of one kind. A marker is an object that is
// added and at once deleted again, so it passes the store and every handler's
// queue, behind all events received before it, and leaves nothing there.
type stream struct {
	// marker returns a new object of the kind.
	marker func() object
	// established is closed when the first watch stands.
	established chan struct{}
	// kick tells the running relay that a marker is wanted.
	kick chan struct{}

	establish sync.Once

	lock sync.Mutex
	// wanted and sent are tickets. Markers between them are outstanding.
	wanted, sent int64
}

func newStream(marker func() object) *stream {
	return &stream{marker: marker, established: make(chan struct{}), kick: make(chan struct{}, 1)}
}

// mark asks for a marker behind everything received so far and returns the
// ticket by which it will be known.
func (s *stream) mark() int64 {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.wanted++
	s.wake()
	return s.wanted
}

// wake does not block: a kick that was not yet taken serves for this one too,
// since the ticket is read after the kick is taken.
func (s *stream) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// outstanding returns the ticket that a marker sent now would carry.
func (s *stream) outstanding() (ticket int64, ok bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.wanted, s.wanted > s.sent
}

func (s *stream) markSent(ticket int64) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.sent = ticket
}

// follow returns a watch that relays source and has the markers in it. The
// source begins after version. Of the watches of one stream, only one is in use
// at a time.
func (s *stream) follow(source watch.Interface, version string) watch.Interface {
	r := &relay{
		stream: s, source: source, version: version,
		result: make(chan watch.Event), stopped: make(chan struct{}),
	}
	s.establish.Do(func() { close(s.established) })
	if _, ok := s.outstanding(); ok {
		// The watch before this one ended with markers outstanding.
		s.wake()
	}
	go r.run()
	return r
}

// relay is one watch of a stream.
type relay struct {
	stream  *stream
	source  watch.Interface
	result  chan watch.Event
	stopped chan struct{}
	stop    sync.Once
	// version is the last resource version that passed. Markers carry it, so
	// that a reflector which resumes after a marker resumes at the right place.
	version string
}

// ResultChan implements watch.Interface.
func (r *relay) ResultChan() <-chan watch.Event { return r.result }

// Stop implements watch.Interface.
func (r *relay) Stop() {
	r.stop.Do(func() {
		close(r.stopped)
		r.source.Stop()
	})
}

func (r *relay) run() {
	defer close(r.result)
	for {
		select {
		case <-r.stopped:
			return
		case event, ok := <-r.source.ResultChan():
			if !ok || !r.pass(event) {
				return
			}
		case <-r.stream.kick:
			if !r.sendMarker() {
				return
			}
		}
	}
}

// sendMarker first passes on what the source holds already, then the marker. It
// reports whether the watch goes on.
func (r *relay) sendMarker() bool {
	ticket, ok := r.stream.outstanding()
	if !ok {
		return true
	}
	if !r.drain() {
		return false
	}
	marker := r.stream.marker()
	marker.SetName(fmt.Sprint(markerPrefix, ticket))
	marker.SetGeneration(ticket)
	marker.SetResourceVersion(r.version)
	if !r.send(watch.Event{Type: watch.Added, Object: marker}) {
		return false
	}
	r.stream.markSent(ticket)
	return r.send(watch.Event{Type: watch.Deleted, Object: marker})
}

// drain passes on all that can be had from the source without waiting.
func (r *relay) drain() bool {
	for {
		select {
		case event, ok := <-r.source.ResultChan():
			if !ok || !r.pass(event) {
				return false
			}
		default:
			return true
		}
	}
}

// pass sends an event of the source.
func (r *relay) pass(event watch.Event) bool {
	if meta, ok := event.Object.(metav1.Object); ok && event.Type != watch.Error {
		r.version = meta.GetResourceVersion()
	}
	return r.send(event)
}

// send reports whether a reader took the event. Once the relay is stopped, none
// does: a marker that counts as sent must have had a reader.
func (r *relay) send(event watch.Event) bool {
	select {
	case <-r.stopped:
		return false
	default:
	}
	select {
	case r.result <- event:
		return true
	case <-r.stopped:
		return false
	}
}

// listWatch is a cache.ListerWatcher whose watches belong to a stream.
type listWatch struct {
	list   func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch  func(context.Context, metav1.ListOptions) (watch.Interface, error)
	stream *stream
	logger klog.Logger
}

func (l listWatch) List(options metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), options)
}

func (l listWatch) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return l.list(ctx, options)
}

func (l listWatch) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return l.WatchWithContext(context.Background(), options)
}

func (l listWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	source, err := l.watch(ctx, options)
	if err != nil {
		// A reflector that resumes a watch says nothing for as long as nobody listens.
		if ctx.Err() == nil {
			l.logger.Error(err, "The API server cannot be asked for changes; the rules stay as they are")
		}
		return nil, err
	}
	return l.stream.follow(source, options.ResourceVersion), nil
}

// IsWatchListSemanticsUnSupported makes reflectors list before they watch. In
// place of a list they could take the first objects from the watch into a store
// of its own, in which a marker would be lost.
func (l listWatch) IsWatchListSemanticsUnSupported() bool { return true }
