package apiclient_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/chainwalk/chainwalk/kindtest/onkind/apiclient"
	"github.com/chainwalk/chainwalk/kindtest/onkind/apiclient/clientset"
)

// request is what a server was asked.
type request struct{ method, uri, accept, contentType, body string }

// recorder is a server that answers each request by an object of the kind that is asked for, named as the request names it, and keeps
// what it was asked.
func recorder(t *testing.T) (to *rest.Config, asked *[]request) {
	t.Helper()
	asked = &[]request{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		*asked = append(*asked, request{r.Method, r.URL.RequestURI(), r.Header.Get("Accept"), r.Header.Get("Content-Type"), string(body)})
		if strings.HasSuffix(r.URL.Path, "/log") {
			_, err = io.WriteString(w, "a line\n")
		} else {
			w.Header().Set("Content-Type", runtime.ContentTypeJSON)
			_, err = io.WriteString(w, `{"metadata":{"name":"answered","resourceVersion":"7"},"items":[{"metadata":{"name":"answered"}}]}`)
		}
		assert.NoError(t, err)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, QPS: -1, UserAgent: "test"}, asked
}

// named is an object of the API.
type named interface {
	runtime.Object
	metav1.Object
}

// calls makes every call of a kind once, and returns the answers.
func calls[T named, L runtime.Object](t *testing.T, objects apiclient.Objects[T, L], object T) (answers []any) {
	t.Helper()
	object.SetName("web")
	made, err := objects.Create(t.Context(), object, metav1.CreateOptions{FieldManager: "test"})
	require.NoError(t, err)
	updated, err := objects.Update(t.Context(), object, metav1.UpdateOptions{})
	require.NoError(t, err)
	found, err := objects.Get(t.Context(), "web", metav1.GetOptions{ResourceVersion: "3"})
	require.NoError(t, err)
	all, err := objects.List(t.Context(), metav1.ListOptions{LabelSelector: "!a", FieldSelector: "metadata.name=web"})
	require.NoError(t, err)
	patched, err := objects.Patch(t.Context(), "web", types.ApplyPatchType, []byte("{}"),
		metav1.PatchOptions{FieldManager: "test", Force: new(bool)})
	require.NoError(t, err)
	_, err = objects.Patch(t.Context(), "web", types.StrategicMergePatchType, []byte("{}"), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	require.NoError(t, objects.Delete(t.Context(), "web", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	events, err := objects.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "7"})
	require.NoError(t, err)
	events.Stop()
	assert.Equal(t, "answered", found.GetName())
	return []any{made, updated, found, all, patched}
}

// everything makes every call of a client.
func everything(t *testing.T, c apiclient.Client) (answers []any) {
	t.Helper()
	for _, namespace := range []string{"shop", metav1.NamespaceAll} {
		in := metav1.ObjectMeta{Namespace: namespace}
		answers = append(answers,
			calls(t, c.ConfigMaps(namespace), &corev1.ConfigMap{ObjectMeta: in}),
			calls(t, c.Events(namespace), &corev1.Event{ObjectMeta: in}),
			calls(t, c.Pods(namespace), &corev1.Pod{ObjectMeta: in}),
			calls(t, c.ServiceAccounts(namespace), &corev1.ServiceAccount{ObjectMeta: in}),
			calls(t, c.Services(namespace), &corev1.Service{ObjectMeta: in}),
			calls(t, c.DaemonSets(namespace), &appsv1.DaemonSet{ObjectMeta: in}),
			calls(t, c.Deployments(namespace), &appsv1.Deployment{ObjectMeta: in}),
			calls(t, c.EndpointSlices(namespace), &discoveryv1.EndpointSlice{ObjectMeta: in}))
	}
	answers = append(answers,
		calls(t, c.Namespaces(), &corev1.Namespace{}),
		calls(t, c.Nodes(), &corev1.Node{}),
		calls(t, c.ServiceCIDRs(), &networkingv1.ServiceCIDR{}),
		calls(t, c.ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{}))
	require.NoError(t, c.Pods("shop").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "a"}))
	service, err := c.Services("shop").UpdateStatus(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}},
		metav1.UpdateOptions{})
	require.NoError(t, err)
	text, err := c.Logs(t.Context(), "shop", "web")
	require.NoError(t, err)
	assert.Equal(t, "a line\n", string(text))
	return append(answers, service)
}

// TestAsTheClientset has client-go's clientset make the same calls: each is the same request, byte for byte, and the same answer.
func TestAsTheClientset(t *testing.T) {
	for _, contentType := range []string{"", runtime.ContentTypeJSON} {
		to, asked := recorder(t)
		to.ContentType = contentType
		whole, err := kubernetes.NewForConfig(to)
		require.NoError(t, err)
		want := everything(t, clientset.Client{Interface: whole})
		wanted := *asked
		*asked = nil

		own, err := apiclient.New(to)
		require.NoError(t, err)
		assert.Equal(t, want, everything(t, own), contentType)
		require.Len(t, *asked, len(wanted))
		require.Greater(t, len(wanted), 150)
		for i := range wanted {
			assert.Equal(t, wanted[i], (*asked)[i], contentType)
		}
	}
}
