package internal_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/chainwalk/chainwalk/internal/restclient"
)

// TestRestClientRequests holds what each method asks of an API server to the paths, verbs and parameters of the Kubernetes API.
func TestRestClientRequests(t *testing.T) {
	var asked, body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		asked, body = r.Method+" "+r.URL.String(), string(text)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "answered"}}`)
	}))
	defer server.Close()
	s, err := restclient.New(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}},
		restclient.Kinds{corev1.SchemeGroupVersion: {&corev1.Pod{}, &corev1.PodList{}}})
	require.NoError(t, err)
	pods := restclient.Objects[corev1.Pod, corev1.PodList](s, corev1.SchemeGroupVersion.WithResource("pods"), "shop")
	everywhere := restclient.Objects[corev1.Pod, corev1.PodList](s, corev1.SchemeGroupVersion.WithResource("pods"), "")
	pod, two := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, int64(2)
	for want, ask := range map[string]func(context.Context) error{
		"GET /api/v1/namespaces/shop/pods/web?resourceVersion=3": func(ctx context.Context) error {
			got, err := pods.Get(ctx, "web", metav1.GetOptions{ResourceVersion: "3"})
			assert.Equal(t, "answered", got.Name)
			return err
		},
		"GET /api/v1/pods?labelSelector=app%3Dweb&timeout=2s&timeoutSeconds=2&watch=true": func(ctx context.Context) error {
			_, err := everywhere.Watch(ctx, metav1.ListOptions{LabelSelector: "app=web", TimeoutSeconds: &two})
			return err
		},
		"POST /api/v1/namespaces/shop/pods?dryRun=All": func(ctx context.Context) error {
			got, err := pods.Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			assert.Equal(t, "answered", got.Name)
			return err
		},
		"PUT /api/v1/namespaces/shop/pods/web": func(ctx context.Context) error {
			_, err := pods.Update(ctx, pod, metav1.UpdateOptions{})
			return err
		},
		"PUT /api/v1/namespaces/shop/pods/web/status": func(ctx context.Context) error {
			_, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
			return err
		},
		"PATCH /api/v1/namespaces/shop/pods/web/resize?fieldManager=me": func(ctx context.Context) error {
			_, err := pods.Patch(ctx, "web", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{FieldManager: "me"}, "resize")
			return err
		},
		"DELETE /api/v1/namespaces/shop/pods/web": func(ctx context.Context) error {
			err := pods.Delete(ctx, "web", metav1.DeleteOptions{GracePeriodSeconds: &two})
			assert.Contains(t, body, `"gracePeriodSeconds":2`)
			return err
		},
		"DELETE /api/v1/namespaces/shop/pods?labelSelector=app%3Dweb": func(ctx context.Context) error {
			return pods.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=web"})
		},
	} {
		require.NoError(t, ask(t.Context()), want)
		assert.Equal(t, want, asked)
	}
}
