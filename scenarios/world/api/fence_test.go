package api

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// told is a proxier that remembers of which objects it was told.
type told struct {
	config.Handler // nil: of nothing else
	lock           sync.Mutex
	names          map[string]bool
	all            []string
}

func (p *told) note(name string, there bool) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.all = append(p.all, name)
	if there {
		p.names[name] = true
	} else {
		delete(p.names, name)
	}
}

func (p *told) now() []string {
	p.lock.Lock()
	defer p.lock.Unlock()
	return slices.Sorted(maps.Keys(p.names))
}

func (p *told) OnServiceAdd(s *corev1.Service)                   { p.note(s.Name, true) }
func (p *told) OnServiceDelete(s *corev1.Service)                { p.note(s.Name, false) }
func (p *told) OnEndpointSliceAdd(s *discovery.EndpointSlice)    { p.note(s.Name, true) }
func (p *told) OnEndpointSliceDelete(s *discovery.EndpointSlice) { p.note(s.Name, false) }
func (p *told) OnNodeAdd(n *corev1.Node)                         { p.note(n.Name, true) }
func (p *told) OnNodeDelete(n *corev1.Node)                      { p.note(n.Name, false) }
func (p *told) OnServiceSynced()                                 {}
func (p *told) OnEndpointSlicesSynced()                          {}
func (p *told) OnNodeSynced()                                    {}

func serviceNamed(name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.1"}}
}

func newAPI(tb testing.TB, proxiers ...*told) *API {
	a, err := New(tb.Context(), nil, klog.Logger{})
	require.NoError(tb, err)
	for _, p := range proxiers {
		p.names = map[string]bool{}
		_, err := a.Feed(tb.Context(), p)
		require.NoError(tb, err)
	}
	return a
}

func TestEveryProxierHasSeenEveryWrite(t *testing.T) {
	proxiers := []*told{{}, {}, {}, {}, {}, {}}
	a := newAPI(t, proxiers...)
	var want []string
	for i := range 600 {
		name := fmt.Sprintf("s%04d", i)
		require.NoError(t, a.Apply(t.Context(), []manifest.Object{{Object: serviceNamed(name)}}))
		want = append(want, name)
		if i%3 == 2 {
			require.NoError(t, a.Delete(t.Context(), []manifest.Ref{{Kind: "Service", Namespace: "shop", Name: name}}))
			want = want[:len(want)-1]
		}
		for _, p := range proxiers {
			require.Equal(t, want, p.now())
		}
	}
	for _, p := range proxiers {
		assert.NotContains(t, fmt.Sprint(p.all), markerPrefix, "no proxier gets a marker")
	}
	list, err := a.store.API().Services.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, list.Items, len(want), "no marker stays")
}

func TestProxierThatIsRemovedIsNotWaitedFor(t *testing.T) {
	early, late := &told{names: map[string]bool{}}, &told{names: map[string]bool{}}
	a := newAPI(t)
	remove, err := a.Feed(t.Context(), early)
	require.NoError(t, err)
	require.NoError(t, a.Apply(t.Context(), []manifest.Object{{Object: serviceNamed("a")}}))
	_, err = a.Feed(t.Context(), late)
	require.NoError(t, err)
	remove()
	remove()
	require.NoError(t, a.Apply(t.Context(), []manifest.Object{{Object: serviceNamed("b")}}))
	assert.Equal(t, []string{"a"}, early.now())
	assert.Equal(t, []string{"a", "b"}, late.now())
}

func TestConcurrentWaits(t *testing.T) {
	p := &told{}
	a := newAPI(t, p)
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for n := range 5 {
				name := fmt.Sprintf("s%d-%d", i, n)
				assert.NoError(t, a.Apply(t.Context(), []manifest.Object{{Object: serviceNamed(name)}}))
				assert.Contains(t, p.now(), name)
			}
		})
	}
	callers.Wait()
}

// slow is a proxier that hangs in OnServiceAdd until it is released.
type slow struct {
	*told
	entered, release chan struct{}
}

func (s *slow) OnServiceAdd(*corev1.Service) {
	s.entered <- struct{}{}
	<-s.release
}

func TestAWaitEndsWhenTheHandlersHaveReturned(t *testing.T) {
	a := newAPI(t)
	p := &slow{told: &told{names: map[string]bool{}}, entered: make(chan struct{}, 1), release: make(chan struct{})}
	_, err := a.Feed(t.Context(), p)
	require.NoError(t, err)
	a.store.byKind["Service"].put(serviceNamed("a"))
	<-p.entered

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, a.fence.wait(ctx), context.Canceled)
	close(p.release)
	require.NoError(t, a.fence.wait(t.Context()), "the markers of the wait that was given up are none of this one")
}

func TestAWaitEndsWithTheInformers(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a, err := New(ctx, nil, klog.Logger{})
	require.NoError(t, err)
	_, err = a.Feed(ctx, &told{names: map[string]bool{}})
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, a.fence.wait(t.Context()), errEnded)
}

func BenchmarkWait(b *testing.B) {
	for _, n := range []int{1, 6} {
		b.Run(fmt.Sprintf("proxiers=%d", n), func(b *testing.B) {
			a := newAPI(b, slices.Repeat([]*told{{}}, n)...)
			for b.Loop() {
				require.NoError(b, a.fence.wait(b.Context()))
			}
		})
	}
}
