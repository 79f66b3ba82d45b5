package config_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networking "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/proxier/config/apiserver"
	"github.com/chainwalk/chainwalk/proxier/config/clientset"
)

// request is what a server was asked.
type request struct{ method, uri, accept, agent string }

// answers has a server answer each path by an object, as protobuf if that is asked for, and note what it was asked.
func answers(t *testing.T, of map[string]runtime.Object) (to *rest.Config, asked *[]request) {
	t.Helper()
	asked = &[]request{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, request{r.Method, r.URL.RequestURI(), r.Header.Get("Accept"), r.UserAgent()})
		object := of[r.URL.Path]
		if object == nil {
			w.Header().Set("Content-Type", runtime.ContentTypeJSON)
			w.WriteHeader(http.StatusNotFound)
			assert.NoError(t, json.NewEncoder(w).Encode(apierrors.NewNotFound(v1.Resource("paths"), r.URL.Path).Status()))
			return
		}
		encode := scheme.Codecs.LegacyCodec(scheme.Scheme.PrioritizedVersionsAllGroups()...)
		if r.Header.Get("Accept") == runtime.ContentTypeProtobuf {
			w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
			assert.NoError(t, protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(object, w))
			return
		}
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		assert.NoError(t, encode.Encode(object, w))
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}, asked
}

func objects() map[string]runtime.Object {
	of := func(version, kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: version, Kind: kind} }
	named := metav1.ObjectMeta{Namespace: "shop", Name: "web"}
	return map[string]runtime.Object{
		"/api/v1/services": &v1.ServiceList{TypeMeta: of("v1", "ServiceList"), Items: []v1.Service{{ObjectMeta: named}}},
		"/api/v1/nodes":    &v1.NodeList{TypeMeta: of("v1", "NodeList"), Items: []v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}}},
		"/apis/discovery.k8s.io/v1/endpointslices": &discovery.EndpointSliceList{
			TypeMeta: of("discovery.k8s.io/v1", "EndpointSliceList"), Items: []discovery.EndpointSlice{{ObjectMeta: named}},
		},
		"/apis/networking.k8s.io/v1/servicecidrs": &networking.ServiceCIDRList{
			TypeMeta: of("networking.k8s.io/v1", "ServiceCIDRList"), Items: []networking.ServiceCIDR{{ObjectMeta: named}},
		},
		"/apis/networking.k8s.io/v1": &metav1.APIResourceList{
			TypeMeta: of("v1", "APIResourceList"), GroupVersion: "networking.k8s.io/v1",
			APIResources: []metav1.APIResource{{Name: "servicecidrs", Kind: "ServiceCIDR"}},
		},
		"/apis/events.k8s.io/v1/namespaces/shop/events": &eventsv1.Event{TypeMeta: of("events.k8s.io/v1", "Event"), ObjectMeta: named},
	}
}

// read is all that a proxy reads once.
func read(t *testing.T, api config.API) []any {
	t.Helper()
	options := metav1.ListOptions{LabelSelector: "!a", FieldSelector: "metadata.name=web", ResourceVersion: "7"}
	services, err := api.Services.List(t.Context(), options)
	require.NoError(t, err)
	endpointSlices, err := api.EndpointSlices.List(t.Context(), options)
	require.NoError(t, err)
	nodes, err := api.Nodes.List(t.Context(), options)
	require.NoError(t, err)
	ranges, err := api.ServiceCIDRs.List(t.Context(), options)
	require.NoError(t, err)
	resources, err := api.Groups.ServerResourcesForGroupVersion("networking.k8s.io/v1")
	require.NoError(t, err)
	return []any{services.Items, endpointSlices.Items, nodes.Items, ranges.Items, resources.APIResources}
}

// TestAsTheClientset asks the same of the same server by client-go's clientset: the same requests, and the same of the answers, whatever
// their encoding.
func TestAsTheClientset(t *testing.T) {
	for _, contentType := range []string{"", runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		to, asked := answers(t, objects())
		to.ContentType, to.UserAgent = contentType, "test"
		if contentType == runtime.ContentTypeProtobuf {
			to.AcceptContentTypes = runtime.ContentTypeProtobuf
		}
		whole, err := kubernetes.NewForConfig(to)
		require.NoError(t, err)
		expected := read(t, clientset.API(whole))
		expectedRequests := *asked
		*asked = nil

		client, err := apiserver.New(to)
		require.NoError(t, err)
		assert.Equal(t, expected, read(t, client.API()), contentType)
		require.Len(t, expectedRequests, 5)
		for i, r := range expectedRequests {
			if i == 4 {
				continue // the clientset takes other encodings of resources too
			}
			assert.Equal(t, r, (*asked)[i], contentType)
		}
		assert.Equal(t, expectedRequests[4].uri, (*asked)[4].uri)
	}
}

func TestEventsGoIntoTheirNamespace(t *testing.T) {
	to, asked := answers(t, objects())
	client, err := apiserver.New(to)
	require.NoError(t, err)
	made, err := client.Create(t.Context(), &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}})
	require.NoError(t, err)
	assert.Equal(t, "web", made.Name)
	assert.Equal(t, "/apis/events.k8s.io/v1/namespaces/shop/events", (*asked)[0].uri)
	assert.Equal(t, rest.DefaultKubernetesUserAgent(), (*asked)[0].agent)
}

func TestWhatAServerDoesNotHave(t *testing.T) {
	to, _ := answers(t, nil)
	client, err := apiserver.New(to)
	require.NoError(t, err)
	_, err = client.API().Groups.ServerResourcesForGroupVersion("networking.k8s.io/v1")
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = client.Create(t.Context(), &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}

// TestAWatchTells reads an object and the error that ends a watch.
func TestAWatchTells(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "true", r.URL.Query().Get("watch"))
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		_, err := w.Write([]byte(`{"type":"ADDED","object":{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}}` + "\n" +
			`{"type":"ERROR","object":{"apiVersion":"v1","kind":"Status","code":410,"reason":"Expired","message":"too old"}}` + "\n"))
		assert.NoError(t, err)
	}))
	defer server.Close()
	client, err := apiserver.New(&rest.Config{Host: server.URL, Timeout: 10 * time.Second})
	require.NoError(t, err)
	events, err := client.API().Nodes.Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer events.Stop()
	assert.Equal(t, "n1", (<-events.ResultChan()).Object.(*v1.Node).Name)
	assert.True(t, apierrors.IsResourceExpired(apierrors.FromObject((<-events.ResultChan()).Object)))
}

func TestALimitNeedsABurst(t *testing.T) {
	_, err := apiserver.New(&rest.Config{Host: "http://127.0.0.1:1", QPS: 5})
	require.EqualError(t, err, "burst 0: the limit of 5 requests a second needs one of 1 or more")
}
