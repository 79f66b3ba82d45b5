package config

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
)

func newServiceStream() *stream {
	return newStream(func() object { return &v1.Service{} })
}

// nextEvent returns the type, name and resource version of the next event.
func nextEvent(t *testing.T, w watch.Interface) (watch.EventType, string, string) {
	t.Helper()
	event, ok := <-w.ResultChan()
	require.True(t, ok, "the watch ended")
	obj := event.Object.(*v1.Service)
	return event.Type, obj.Name, obj.ResourceVersion
}

func versioned(name, version string) *v1.Service {
	s := service(name, "10.96.0.1", nil)
	s.ResourceVersion = version
	return s
}

func TestMarkerComesBehindWhatTheSourceHolds(t *testing.T) {
	source := watch.NewRaceFreeFake()
	s := newServiceStream()
	relayed := s.follow(source, "3")
	defer relayed.Stop()
	source.Add(versioned("a", "4"))
	source.Add(versioned("b", "5"))
	require.EqualValues(t, 1, s.mark())

	for _, want := range [][3]string{
		{"ADDED", "a", "4"}, {"ADDED", "b", "5"},
		{"ADDED", "//marker/1", "5"}, {"DELETED", "//marker/1", "5"},
	} {
		kind, name, version := nextEvent(t, relayed)
		assert.Equal(t, want, [3]string{string(kind), name, version})
	}
}

func TestMarkerBeforeAnyEventCarriesTheVersionOfTheWatch(t *testing.T) {
	s := newServiceStream()
	relayed := s.follow(watch.NewRaceFreeFake(), "3")
	defer relayed.Stop()
	s.mark()
	_, name, version := nextEvent(t, relayed)
	assert.Equal(t, "//marker/1", name)
	assert.Equal(t, "3", version)
}

func TestMarkerOfABrokenWatchComesWithTheNext(t *testing.T) {
	s := newServiceStream()
	source := watch.NewRaceFreeFake()
	broken := s.follow(source, "")
	source.Add(versioned("a", "4"))
	s.mark()
	// Nobody reads, so the relay is held up before the marker.
	broken.Stop()
	for range broken.ResultChan() {
		// Wait until the relay has gone.
	}

	next := s.follow(watch.NewRaceFreeFake(), "4")
	defer next.Stop()
	kind, name, _ := nextEvent(t, next)
	assert.Equal(t, watch.Added, kind)
	assert.Equal(t, "//marker/1", name)
}

func TestRelayEndsWithItsSource(t *testing.T) {
	s := newServiceStream()
	source := watch.NewRaceFreeFake()
	relayed := s.follow(source, "")
	source.Stop()
	_, ok := <-relayed.ResultChan()
	assert.False(t, ok)
	relayed.Stop()
	relayed.Stop()
}

func TestEstablishedWithTheFirstWatch(t *testing.T) {
	s := newServiceStream()
	select {
	case <-s.established:
		t.Fatal("established without a watch")
	default:
	}
	s.follow(watch.NewRaceFreeFake(), "").Stop()
	s.follow(watch.NewRaceFreeFake(), "").Stop()
	<-s.established
}

func TestGateLetsSkippedTicketsThrough(t *testing.T) {
	g := newGate()
	second, fourth := g.after(2), g.after(4)
	g.reach(3)
	<-second
	select {
	case <-fourth:
		t.Fatal("ticket 4 passed at 3")
	default:
	}
	<-g.after(1)
	g.open()
	<-fourth
	<-g.after(99)
}

// recordSelectors remembers the selectors of each watch, by resource, and lets
// the fake go on.
func recordSelectors(seen *sync.Map) clienttesting.WatchReactionFunc {
	return func(action clienttesting.Action) (bool, watch.Interface, error) {
		restrictions := action.(clienttesting.WatchAction).GetWatchRestrictions()
		seen.Store(action.GetResource().Resource, restrictions.Labels.String()+" "+restrictions.Fields.String())
		return false, nil, nil
	}
}

func TestWatchThatFailsIsLogged(t *testing.T) {
	refused := errors.New("connection refused")
	var log []string
	l := listWatch{
		stream: newServiceStream(),
		watch:  func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, refused },
		logger: funcr.New(func(_, line string) { log = append(log, line) }, funcr.Options{}),
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := l.WatchWithContext(ctx, metav1.ListOptions{})
	require.ErrorIs(t, err, refused)
	require.Len(t, log, 1)
	assert.Contains(t, log[0], "connection refused")
	cancel()
	_, err = l.WatchWithContext(ctx, metav1.ListOptions{})
	require.ErrorIs(t, err, refused)
	assert.Len(t, log, 1, "it is asked to end")
}
