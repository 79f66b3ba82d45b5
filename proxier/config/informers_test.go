package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/chainwalk/chainwalk/proxier/internal/changes"
)

// recorder is a consumer that remembers what it was told.
type recorder struct {
	lock     sync.Mutex
	services map[string]*v1.Service
	slices   map[string]*discovery.EndpointSlice
	nodes    map[string]*v1.Node
	events   []string
}

func newRecorder() *recorder {
	return &recorder{
		services: map[string]*v1.Service{},
		slices:   map[string]*discovery.EndpointSlice{},
		nodes:    map[string]*v1.Node{},
	}
}

func (r *recorder) note(event string, change func()) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.events = append(r.events, event)
	change()
}

func (r *recorder) OnServiceAdd(s *v1.Service) {
	r.note("add service "+s.Name, func() { r.services[s.Name] = s })
}
func (r *recorder) OnServiceUpdate(_, s *v1.Service) {
	r.note("update service "+s.Name, func() { r.services[s.Name] = s })
}
func (r *recorder) OnServiceDelete(s *v1.Service) {
	r.note("delete service "+s.Name, func() { delete(r.services, s.Name) })
}
func (r *recorder) OnServiceSynced() { r.note("services synced", func() {}) }

func (r *recorder) OnEndpointSliceAdd(s *discovery.EndpointSlice) {
	r.note("add slice "+s.Name, func() { r.slices[s.Name] = s })
}
func (r *recorder) OnEndpointSliceUpdate(_, s *discovery.EndpointSlice) {
	r.note("update slice "+s.Name, func() { r.slices[s.Name] = s })
}
func (r *recorder) OnEndpointSliceDelete(s *discovery.EndpointSlice) {
	r.note("delete slice "+s.Name, func() { delete(r.slices, s.Name) })
}
func (r *recorder) OnEndpointSlicesSynced() { r.note("slices synced", func() {}) }

func (r *recorder) OnNodeAdd(n *v1.Node) {
	r.note("add node "+n.Name, func() { r.nodes[n.Name] = n })
}
func (r *recorder) OnNodeUpdate(_, n *v1.Node) {
	r.note("update node "+n.Name, func() { r.nodes[n.Name] = n })
}
func (r *recorder) OnNodeDelete(n *v1.Node) {
	r.note("delete node "+n.Name, func() { delete(r.nodes, n.Name) })
}
func (r *recorder) OnNodeSynced() { r.note("nodes synced", func() {}) }

// take returns the events since the last call.
func (r *recorder) take() []string {
	r.lock.Lock()
	defer r.lock.Unlock()
	events := r.events
	r.events = nil
	return events
}

func (r *recorder) serviceNames() []string {
	r.lock.Lock()
	defer r.lock.Unlock()
	return slices.Sorted(maps.Keys(r.services))
}

func service(name, clusterIP string, labels map[string]string) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels},
		Spec:       v1.ServiceSpec{ClusterIP: clusterIP},
	}
}

func slice(name string, labels map[string]string) *discovery.EndpointSlice {
	return &discovery.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels}}
}

func node(name string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// of is what package clientset makes of a fake clientset; that package imports this one.
func of(client *fake.Clientset) API {
	return API{
		Services: client.CoreV1().Services(""), EndpointSlices: client.DiscoveryV1().EndpointSlices(""), Nodes: client.CoreV1().Nodes(),
		NoWatchList: client.IsWatchListSemanticsUnSupported(),
	}
}

// start returns when the informers' watches stand. In the bubble of a test that is so
// when every goroutine waits, and so is that every handler has seen what was written.
func start(t *testing.T, client *fake.Clientset, options Options) *Informers {
	t.Helper()
	informers, err := Watch(t.Context(), of(client), options)
	require.NoError(t, err)
	synctest.Wait()
	return informers
}

func attach(t *testing.T, informers *Informers) (*recorder, *Registration) {
	t.Helper()
	r := newRecorder()
	registration, err := informers.AddConsumer(t.Context(), r)
	require.NoError(t, err)
	return r, registration
}

func TestConsumerGetsWhatIsThereThenSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(service("web", "10.96.0.1", nil), slice("web-1", nil), node("n1"))
		r, _ := attach(t, start(t, client, Options{}))
		events := r.take()
		require.Len(t, events, 6)
		assert.ElementsMatch(t, []string{"add service web", "add slice web-1", "add node n1"}, events[:3])
		assert.Equal(t, []string{"nodes synced", "services synced", "slices synced"}, events[3:])
	})
}

// TestManagedFieldsAreNotKept has objects say who has written which of their fields, which costs memory and means nothing to a proxier.
func TestManagedFieldsAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		by := []metav1.ManagedFieldsEntry{{Manager: "somebody"}}
		web, web1, n1 := service("web", "10.96.0.1", nil), slice("web-1", nil), node("n1")
		web.ManagedFields, web1.ManagedFields, n1.ManagedFields = by, by, by
		client := fake.NewClientset(web, web1, n1)
		r, _ := attach(t, start(t, client, Options{}))
		assert.Empty(t, r.services["web"].ManagedFields)
		assert.Empty(t, r.slices["web-1"].ManagedFields)
		assert.Empty(t, r.nodes["n1"].ManagedFields)
		kept, err := client.CoreV1().Services("shop").Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		assert.NotEmpty(t, kept.ManagedFields, "the server's own is as it was")
	})
}

func TestSelection(t *testing.T) {
	foreign := map[string]string{changes.LabelServiceProxyName: "mesh"}
	headless := map[string]string{v1.IsHeadlessService: ""}
	cases := []struct {
		name   string
		object runtime.Object
		want   []string
	}{
		{"ordinary service", service("s", "10.96.0.1", nil), []string{"add service s"}},
		{"service without a cluster IP yet", service("s", "", nil), []string{"add service s"}},
		{"service of another proxy", service("s", "10.96.0.1", foreign), nil},
		{"headless service", service("s", v1.ClusterIPNone, nil), nil},
		{"service that only carries the headless label", service("s", "10.96.0.1", headless), []string{"add service s"}},
		{"ordinary slice", slice("e", nil), []string{"add slice e"}},
		{"slice of another proxy", slice("e", foreign), nil},
		{"slice of a headless service", slice("e", headless), nil},
		{"the chosen node", node("n1"), []string{"add node n1"}},
		{"another node", node("n2"), nil},
	}
	for _, c := range cases {
		t.Run(c.name+" that is there first", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := attach(t, start(t, fake.NewClientset(c.object), Options{NodeName: "n1"}))
				assert.Equal(t, c.want, objectEvents(r.take()))
			})
		})
		t.Run(c.name+" that comes later", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				informers := start(t, client, Options{NodeName: "n1"})
				r, _ := attach(t, informers)
				require.NoError(t, client.Tracker().Add(c.object))
				synctest.Wait()
				assert.Equal(t, c.want, objectEvents(r.take()))
			})
		})
	}
}

// objectEvents leaves out the three synced events.
func objectEvents(events []string) []string {
	var rest []string
	for _, event := range events {
		if event != "nodes synced" && event != "services synced" && event != "slices synced" {
			rest = append(rest, event)
		}
	}
	return rest
}

func TestSelectorsForTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen sync.Map
		client := fake.NewClientset()
		client.PrependWatchReactor("*", recordSelectors(&seen))
		start(t, client, Options{NodeName: "n1"})
		for resource, want := range map[string]string{
			"services":       "!service.kubernetes.io/service-proxy-name spec.clusterIP!=None",
			"endpointslices": "!service.kubernetes.io/headless,!service.kubernetes.io/service-proxy-name ",
			"nodes":          " metadata.name=n1",
		} {
			got, _ := seen.Load(resource)
			assert.Equal(t, want, got, resource)
		}
	})
}

func TestObjectThatCeasesToCountIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(service("web", "10.96.0.1", nil))
		informers := start(t, client, Options{})
		r, _ := attach(t, informers)
		r.take()
		for _, step := range []struct {
			object *v1.Service
			want   string
		}{
			{service("web", "10.96.0.2", nil), "update service web"},
			{service("web", "10.96.0.2", map[string]string{changes.LabelServiceProxyName: "mesh"}), "delete service web"},
			{service("web", "10.96.0.3", nil), "add service web"},
		} {
			_, err := client.CoreV1().Services("shop").Update(t.Context(), step.object, metav1.UpdateOptions{})
			require.NoError(t, err)
			synctest.Wait()
			assert.Equal(t, []string{step.want}, r.take())
		}
	})
}

func TestEveryConsumerSeesEveryWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const objects, consumers = 1000, 6
		client := fake.NewClientset()
		informers := start(t, client, Options{})
		recorders := make([]*recorder, consumers)
		for i := range recorders {
			recorders[i], _ = attach(t, informers)
		}
		api := client.CoreV1().Services("shop")
		var want []string
		for i := range objects {
			name := fmt.Sprintf("s%04d", i)
			require.NoError(t, client.Tracker().Add(service(name, "10.96.0.1", nil)))
			want = append(want, name)
			if i%3 == 2 {
				require.NoError(t, api.Delete(t.Context(), name, metav1.DeleteOptions{}))
				want = want[:len(want)-1]
			}
			if i%40 == 39 {
				requireDelivered(t, recorders, want)
			}
		}
		requireDelivered(t, recorders, want)
	})
}

func requireDelivered(t *testing.T, recorders []*recorder, want []string) {
	t.Helper()
	synctest.Wait()
	for _, r := range recorders {
		require.Equal(t, want, r.serviceNames())
	}
}

func TestThousandObjectsThatAreThereFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		for i := range 1000 {
			require.NoError(t, client.Tracker().Add(service(fmt.Sprintf("s%04d", i), "10.96.0.1", nil)))
			require.NoError(t, client.Tracker().Add(slice(fmt.Sprintf("e%04d", i), nil)))
		}
		informers := start(t, client, Options{})
		for range 6 {
			r, _ := attach(t, informers)
			assert.Len(t, r.services, 1000)
			assert.Len(t, r.slices, 1000)
		}
	})
}

// TestWritesDuringStart makes objects while the informers list and begin to
// watch. None may be lost.
func TestWritesDuringStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var want []string
		for i := range 50 {
			want = append(want, fmt.Sprintf("s%02d", i))
		}
		var writer sync.WaitGroup
		writer.Go(func() {
			for _, name := range want {
				_, err := client.CoreV1().Services("shop").Create(t.Context(), service(name, "10.96.0.1", nil), metav1.CreateOptions{})
				assert.NoError(t, err)
			}
		})
		informers := start(t, client, Options{})
		r, _ := attach(t, informers)
		writer.Wait()
		requireDelivered(t, []*recorder{r}, want)
	})
}

func TestLateConsumerAndRemovedConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(service("a", "10.96.0.1", nil))
		informers := start(t, client, Options{})
		early, registration := attach(t, informers)
		require.NoError(t, client.Tracker().Add(service("b", "10.96.0.2", nil)))
		late, _ := attach(t, informers)
		synctest.Wait()
		assert.Equal(t, []string{"a", "b"}, late.serviceNames())

		registration.Remove()
		early.take()
		require.NoError(t, client.Tracker().Add(service("c", "10.96.0.3", nil)))
		synctest.Wait()
		assert.Equal(t, []string{"a", "b", "c"}, late.serviceNames())
		assert.Empty(t, early.take())
		registration.Remove()
	})
}

func TestStoppedInformersSaySo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		informers, err := Watch(ctx, of(fake.NewClientset()), Options{})
		require.NoError(t, err)
		attach(t, informers)
		cancel()
		_, err = informers.AddConsumer(t.Context(), newRecorder())
		require.ErrorIs(t, err, errStopped)
		synctest.Wait() // until the informers have ended too
		_, err = informers.AddConsumer(t.Context(), newRecorder())
		require.ErrorIs(t, err, errStopped)

		_, err = Watch(ctx, of(fake.NewClientset()), Options{})
		require.Error(t, err)
	})
}

func TestTombstone(t *testing.T) {
	r := newRecorder()
	client := fake.NewClientset()
	informer := newInformer(of(client), services(of(client).Services), Options{})
	d := &kindDelivery[*v1.Service]{
		informer: informer, progress: newProgress(),
		on: callbacks[*v1.Service]{add: r.OnServiceAdd, update: func(_, _ *v1.Service) {}, remove: r.OnServiceDelete},
	}
	d.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/web", Obj: service("web", "10.96.0.1", nil)})
	d.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/web"})
	d.OnAdd("not an object", false)
	assert.Equal(t, []string{"delete service web"}, r.take())
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
	watched := logged(func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, refused },
		funcr.New(func(_, line string) { log = append(log, line) }, funcr.Options{}))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := watched(ctx, metav1.ListOptions{})
	require.ErrorIs(t, err, refused)
	require.Len(t, log, 1)
	assert.Contains(t, log[0], "connection refused")
	cancel()
	_, err = watched(ctx, metav1.ListOptions{})
	require.ErrorIs(t, err, refused)
	assert.Len(t, log, 1, "it is asked to end")
}
