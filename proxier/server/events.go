package server

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	recordutil "k8s.io/client-go/tools/record/util"
)

// EventSink writes an event into the namespace that it names. client-go's events.EventSinkImpl does, by a clientset.
type EventSink interface {
	Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error)
}

// How many events wait to be written, and how often and when one is tried again that no API server has answered, as by client-go's
// recorder (tools/events). That one would link every group of the API; what it has besides, counting an event that comes again and again,
// none of ours needs.
const (
	waitingEvents = 100
	eventTries    = 12
	eventInterval = 10 * time.Second
)

// reporter is what events say has reported them.
const reporter = "kube-proxy"

// recorder hands events to a sink in order. It does not hold up who records.
type recorder struct {
	server  *server
	sink    EventSink
	waiting chan *eventsv1.Event
	count   atomic.Int64 // keeps the names of events of one moment apart
}

// newRecorder starts a recorder that ends with the context. Without a sink events are dropped.
func (s *server) newRecorder(ctx context.Context) *recorder {
	r := &recorder{server: s, sink: s.Events, waiting: make(chan *eventsv1.Event, waitingEvents)}
	if r.sink != nil {
		s.run(func() { r.follow(ctx) })
	}
	return r
}

// Eventf records an event about an object, which is given by its reference. It has the parameters of client-go's EventRecorder.
func (r *recorder) Eventf(regarding, _ runtime.Object, eventType, reason, action, note string, args ...any) {
	reference, ok := regarding.(*v1.ObjectReference)
	if r.sink == nil || !ok {
		return
	}
	namespace := reference.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	now := r.server.clock.Now()
	name := recordutil.GenerateEventName(reference.Name, now.UnixNano()+r.count.Add(1))
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		EventTime:  metav1.MicroTime{Time: now}, Type: eventType, Reason: reason, Action: action, Note: fmt.Sprintf(note, args...),
		ReportingController: reporter, ReportingInstance: reporter + "-" + r.server.Host.Name, Regarding: *reference,
	}
	select {
	case r.waiting <- event:
	default:
		r.server.Logger.Error(nil, "Too many events wait for the API server: this one is dropped", "reason", reason, "note", event.Note)
	}
}

// follow writes what is recorded until the context ends.
func (r *recorder) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-r.waiting:
			if err := r.write(ctx, event); err != nil && ctx.Err() == nil {
				r.server.Logger.Error(err, "An event could not be written", "reason", event.Reason, "note", event.Note)
			}
		}
	}
}

// write writes an event, and tries again as long as no API server answers. What it refuses it would refuse again.
func (r *recorder) write(ctx context.Context, event *eventsv1.Event) (err error) {
	for range eventTries {
		_, err = r.sink.Create(ctx, event)
		if refused := (*apierrors.StatusError)(nil); err == nil || errors.As(err, &refused) {
			return err
		}
		if !r.server.pause(ctx, eventInterval) {
			return err
		}
	}
	return err
}
