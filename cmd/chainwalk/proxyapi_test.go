package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// apiServer is as much of an API server as a proxy needs: lists, watches, and a place for events.
type apiServer struct {
	lists map[string]any // by path

	lock  sync.Mutex
	asked []string
	watch map[string]chan metav1.WatchEvent
}

func newAPIServer() *apiServer {
	node := &v1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: "worker1", ResourceVersion: "1"},
		Status:     v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "192.168.0.2"}}}}
	service := &v1.Service{TypeMeta: metav1.TypeMeta{Kind: "Service", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", ResourceVersion: "1"},
		Spec: v1.ServiceSpec{ClusterIP: "172.30.0.41", ClusterIPs: []string{"172.30.0.41"},
			Ports: []v1.ServicePort{{Port: 80, Protocol: v1.ProtocolTCP}}}}
	version := metav1.ListMeta{ResourceVersion: "1"}
	slicesPath := "/apis/discovery.k8s.io/v1/endpointslices"
	return &apiServer{
		lists: map[string]any{
			"/api/v1/nodes": &v1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}, ListMeta: version,
				Items: []v1.Node{*node}},
			"/api/v1/services": &v1.ServiceList{TypeMeta: metav1.TypeMeta{Kind: "ServiceList", APIVersion: "v1"}, ListMeta: version,
				Items: []v1.Service{*service}},
			slicesPath: &discovery.EndpointSliceList{TypeMeta: metav1.TypeMeta{Kind: "EndpointSliceList", APIVersion: "discovery.k8s.io/v1"},
				ListMeta: version,
				Items:    []discovery.EndpointSlice{*webSlice("1", "10.244.1.2")}},
		},
		watch: map[string]chan metav1.WatchEvent{"/api/v1/nodes": nil, "/api/v1/services": nil, slicesPath: make(chan metav1.WatchEvent)},
	}
}

func webSlice(version, address string) *discovery.EndpointSlice {
	return &discovery.EndpointSlice{
		TypeMeta: metav1.TypeMeta{Kind: "EndpointSlice", APIVersion: "discovery.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "default", ResourceVersion: version,
			Labels: map[string]string{discovery.LabelServiceName: "web"}},
		AddressType: discovery.AddressTypeIPv4,
		Ports:       []discovery.EndpointPort{{Name: ptr.To(""), Port: ptr.To[int32](8080), Protocol: ptr.To(v1.ProtocolTCP)}},
		Endpoints:   []discovery.Endpoint{{Addresses: []string{address}}},
	}
}

// ServeHTTP answers in JSON, whatever was preferred.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.lock.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path+" "+r.URL.Query().Get("fieldSelector")+" "+r.UserAgent())
	s.lock.Unlock()
	w.Header().Set("Content-Type", "application/json")
	list, ok := s.lists[r.URL.Path]
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodPost:
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})
	case !ok:
		http.NotFound(w, r)
	case query.Get("watch") == "":
		_ = json.NewEncoder(w).Encode(list)
	case query.Get("sendInitialEvents") != "":
		// Servers before v1.32 refuse it so, and are asked for a list then.
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity, Message: "sendInitialEvents is forbidden"})
	default:
		s.stream(w, r)
	}
}

// stream writes events until the client goes.
func (s *apiServer) stream(w http.ResponseWriter, r *http.Request) {
	w.(http.Flusher).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case event := <-s.watch[r.URL.Path]:
			_ = json.NewEncoder(w).Encode(event)
			w.(http.Flusher).Flush()
		}
	}
}

// awaitRequest waits for a request that begins like this: events are sent in the background.
func (s *apiServer) awaitRequest(t *testing.T, request string) {
	t.Helper()
	asked := func() bool {
		s.lock.Lock()
		defer s.lock.Unlock()
		return slices.ContainsFunc(s.asked, func(asked string) bool { return strings.HasPrefix(asked, request) })
	}
	require.Eventually(t, asked, patience, 10*time.Millisecond, request)
}

func TestProxyOnAnAPIServer(t *testing.T) {
	api := newAPIServer()
	served := httptest.NewServer(api)
	// Registered before the proxy is started, so that it is closed after the proxy has ended.
	t.Cleanup(served.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig.yaml")
	require.NoError(t, os.WriteFile(kubeconfig, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: here, cluster: {server: %q}}]
contexts: [{name: here, context: {cluster: here}}]
current-context: here
`, served.URL), 0o600))
	r := newProxyRun(t)
	r.start(t, "--fake", "--kubeconfig", kubeconfig)
	synced := `kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv4"} 1`
	r.get(t, r.metric+"/metrics", contains(synced, "rest_client_requests_total"))
	assert.Contains(t, savedRules(t, "iptables-save"), "--to-destination 10.244.1.2:8080")

	event := metav1.WatchEvent{Type: "MODIFIED"}
	var err error
	event.Object.Raw, err = json.Marshal(webSlice("2", "10.244.1.3"))
	require.NoError(t, err)
	api.watch["/apis/discovery.k8s.io/v1/endpointslices"] <- event
	r.get(t, r.metric+"/metrics", contains(`kubeproxy_sync_partial_proxy_rules_duration_seconds_count{ip_family="IPv4"} 1`))
	assert.Contains(t, savedRules(t, "iptables-save"), "--to-destination 10.244.1.3:8080")
	api.awaitRequest(t, "GET /api/v1/nodes metadata.name=worker1 chainwalk")
	api.awaitRequest(t, "GET /api/v1/services spec.clusterIP!=None ")
	api.awaitRequest(t, "POST /apis/events.k8s.io/v1/namespaces/default/events ")
	r.stop()
	require.NoError(t, <-r.done)
}
