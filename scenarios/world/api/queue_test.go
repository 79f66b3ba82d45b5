package api

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// listener notes what it is told, kinds at the same time.
type listener struct {
	lock  sync.Mutex
	heard []string
}

func (l *listener) note(what string, objects ...metav1.Object) {
	for _, o := range objects {
		what += fmt.Sprintf(" %s/%s", o.GetName(), o.GetUID())
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	l.heard = append(l.heard, what)
}

func (l *listener) OnServiceAdd(s *corev1.Service)         { l.note("add", s) }
func (l *listener) OnServiceUpdate(old, s *corev1.Service) { l.note("update", old, s) }
func (l *listener) OnServiceDelete(s *corev1.Service)      { l.note("delete", s) }
func (l *listener) OnServiceSynced()                       { l.note("services") }

func (l *listener) OnEndpointSliceAdd(s *discoveryv1.EndpointSlice) { l.note("add slice", s) }
func (l *listener) OnEndpointSliceUpdate(old, s *discoveryv1.EndpointSlice) {
	l.note("update slice", old, s)
}
func (l *listener) OnEndpointSliceDelete(s *discoveryv1.EndpointSlice) { l.note("delete slice", s) }
func (l *listener) OnEndpointSlicesSynced()                            { l.note("slices") }

func (l *listener) OnNodeAdd(n *corev1.Node)         { l.note("add node", n) }
func (l *listener) OnNodeUpdate(old, n *corev1.Node) { l.note("update node", old, n) }
func (l *listener) OnNodeDelete(n *corev1.Node)      { l.note("delete node", n) }
func (l *listener) OnNodeSynced()                    { l.note("nodes") }

// meta is an object of a name and a version, which is its UID.
func meta(name, version string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(version)}
}

func service(name, version string) manifest.Object {
	return manifest.Object{Object: &corev1.Service{TypeMeta: metav1.TypeMeta{Kind: "Service"}, ObjectMeta: meta(name, version)}}
}

func slice(name, version string) manifest.Object {
	o := &discoveryv1.EndpointSlice{TypeMeta: metav1.TypeMeta{Kind: "EndpointSlice"}, ObjectMeta: meta(name, version)}
	return manifest.Object{Object: o}
}

func node(name, version string) manifest.Object {
	o := &corev1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node"}, ObjectMeta: meta(name, version)}
	o.Namespace = ""
	return manifest.Object{Object: o}
}

// kube is an API with some objects, of which both ways to tell are made.
type kube interface {
	Feed(ctx context.Context, proxy config.Handler) (remove func(), err error)
	Apply(ctx context.Context, objects []manifest.Object) error
	Delete(ctx context.Context, refs []manifest.Ref) error
}

// queueOn is a queue that is held, before a listener that knows web and its slice.
func queueOn(t *testing.T, kube kube) (*Queue, *listener) {
	t.Helper()
	l := &listener{}
	q := NewQueue("node1", l)
	_, err := kube.Feed(t.Context(), q)
	require.NoError(t, err)
	l.heard = nil
	q.Hold(true)
	return q, l
}

func bothAPIs(t *testing.T, test func(*testing.T, kube)) {
	first := []manifest.Object{node("node1", "1"), node("node2", "1"), service("web", "1"), slice("web-1", "1")}
	t.Run("informers", func(t *testing.T) {
		a, err := New(t.Context(), first, klog.Logger{})
		require.NoError(t, err)
		test(t, a)
	})
	t.Run("direct", func(t *testing.T) {
		d, err := NewDirect(first)
		require.NoError(t, err)
		test(t, d)
	})
}

// changes are some of each kind: web changes twice, blog comes and goes, old goes and comes as another one.
func changes(t *testing.T, k kube) {
	t.Helper()
	apply := func(objects ...manifest.Object) { require.NoError(t, k.Apply(t.Context(), objects)) }
	remove := func(o manifest.Object) { require.NoError(t, k.Delete(t.Context(), []manifest.Ref{o.Ref()})) }
	apply(service("web", "2"), slice("web-1", "2"), node("node2", "2"), node("node1", "2"))
	apply(service("blog", "1"))
	apply(service("web", "3"))
	remove(service("blog", ""))
	remove(slice("web-1", ""))
	apply(slice("web-1", "3"))
	remove(service("web", ""))
}

func TestQueueTellsInOrder(t *testing.T) {
	bothAPIs(t, func(t *testing.T, k kube) {
		q, l := queueOn(t, k)
		changes(t, k)
		assert.Empty(t, l.heard)
		assert.Len(t, q.waiting, 9, "those of other nodes are none")
		q.Hold(false)
		assert.ElementsMatch(t, []string{
			"update web/1 web/2", "update slice web-1/1 web-1/2", "update node node1/1 node1/2", "add blog/1", "update web/2 web/3",
			"delete blog/1", "delete slice web-1/2", "add slice web-1/3", "delete web/3",
		}, l.heard)
		assert.Empty(t, q.waiting)
		require.NoError(t, k.Apply(t.Context(), []manifest.Object{service("web", "4")}))
		assert.Equal(t, "add web/4", l.heard[len(l.heard)-1])
	})
}

func TestQueueTellsSome(t *testing.T) {
	services, slices := []scenarios.Watched{scenarios.WatchedServices}, []scenarios.Watched{scenarios.WatchedEndpointSlices}
	for _, row := range []struct {
		name     string
		delivery scenarios.Delivery
		heard    []string
		view     string
	}{
		{"the oldest", scenarios.Delivery{Kinds: services, Count: 2}, []string{
			"update web/1 web/2", "add blog/1"}, "blog1 web2 | web-11 | node11"},
		{"a kind alone", scenarios.Delivery{Kinds: slices}, []string{
			"update slice web-1/1 web-1/2", "delete slice web-1/2", "add slice web-1/3"}, "web1 | web-13 | node11"},
		{"twice", scenarios.Delivery{Kinds: slices, Twice: true}, []string{
			"update slice web-1/1 web-1/2", "update slice web-1/2 web-1/2", "delete slice web-1/2", "delete slice web-1/2",
			"add slice web-1/3", "update slice web-1/3 web-1/3"}, "web1 | web-13 | node11"},
		{"a list", scenarios.Delivery{Relist: true}, []string{
			"update slice web-1/1 web-1/3", "update node node1/1 node1/2", "delete web/1"}, " | web-13 | node12"},
	} {
		t.Run(row.name, func(t *testing.T) {
			bothAPIs(t, func(t *testing.T, k kube) {
				q, l := queueOn(t, k)
				changes(t, k)
				q.Deliver(row.delivery)
				if row.delivery.Relist {
					assert.ElementsMatch(t, row.heard, l.heard)
					assert.Equal(t, "delete web/1", l.heard[2])
				} else {
					assert.Equal(t, row.heard, l.heard)
				}
				v := q.Knowledge()
				text := ""
				for i, s := range v.Services {
					text += map[bool]string{true: " "}[i > 0] + s.Name + string(s.UID)
				}
				text += " | "
				for _, s := range v.Slices {
					text += s.Name + string(s.UID)
				}
				assert.Equal(t, row.view, text+" | "+v.Node.Name+string(v.Node.UID))
			})
		})
	}
}

func TestDirectRefusesWhatIsNotThere(t *testing.T) {
	bothAPIs(t, func(t *testing.T, k kube) {
		for _, o := range []manifest.Object{service("none", ""), slice("none", ""), node("none", "")} {
			require.ErrorContains(t, k.Delete(t.Context(), []manifest.Ref{o.Ref()}), "none")
		}
		pod := manifest.Object{Object: &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod"}, ObjectMeta: meta("p", "")}}
		require.NoError(t, k.Apply(t.Context(), []manifest.Object{pod}))
		require.NoError(t, k.Delete(t.Context(), []manifest.Ref{pod.Ref()}))
		require.Error(t, k.Delete(t.Context(), []manifest.Ref{pod.Ref()}))
		secret := manifest.Object{Object: &corev1.Secret{TypeMeta: metav1.TypeMeta{Kind: "Secret"}, ObjectMeta: meta("s", "")}}
		require.ErrorContains(t, k.Apply(t.Context(), []manifest.Object{secret}), "objects of type *v1.Secret are not supported")
	})
}

func TestAProxierThatIsRemovedIsToldNothing(t *testing.T) {
	bothAPIs(t, func(t *testing.T, k kube) {
		first, second := &listener{}, &listener{}
		remove, err := k.Feed(t.Context(), first)
		require.NoError(t, err)
		_, err = k.Feed(t.Context(), second)
		require.NoError(t, err)
		assert.ElementsMatch(t, []string{
			"add node node1/1", "add node node2/1", "nodes", "add web/1", "services", "add slice web-1/1", "slices",
		}, first.heard)
		remove()
		first.heard, second.heard = nil, nil
		require.NoError(t, k.Apply(t.Context(), []manifest.Object{service("web", "2")}))
		assert.Empty(t, first.heard)
		assert.Equal(t, []string{"update web/1 web/2"}, second.heard)
	})
}
