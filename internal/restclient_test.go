package internal_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/chainwalk/chainwalk/internal/restclient"
)

// TestGroupsShareTheLimitOfRequests: the fourth request has to wait, whichever group it is of.
func TestGroupsShareTheLimitOfRequests(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	s, err := restclient.New(&rest.Config{Host: server.URL, QPS: 1e-6, Burst: 3, Timeout: time.Minute}, restclient.Kinds{
		corev1.SchemeGroupVersion:      {&corev1.Node{}, &corev1.NodeList{}},
		discoveryv1.SchemeGroupVersion: {&discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSliceList{}},
	})
	require.NoError(t, err)
	nodes := restclient.Objects[corev1.Node, corev1.NodeList](s, corev1.SchemeGroupVersion.WithResource("nodes"), "")
	slices := restclient.Objects[discoveryv1.EndpointSlice, discoveryv1.EndpointSliceList](s,
		discoveryv1.SchemeGroupVersion.WithResource("endpointslices"), "shop")
	for range 2 {
		_, err = nodes.Get(t.Context(), "n1", metav1.GetOptions{})
		assert.True(t, apierrors.IsNotFound(err), "%v", err)
	}
	_, err = slices.Get(t.Context(), "web", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	_, err = slices.Get(ctx, "web", metav1.GetOptions{})
	require.ErrorContains(t, err, "rate limiter")
	assert.Equal(t, 3, asked)
}

// TestAGroupThatNobodyGaveIsAMistakeOfTheProgram names the group.
func TestAGroupThatNobodyGaveIsAMistakeOfTheProgram(t *testing.T) {
	s, err := restclient.New(&rest.Config{Host: "http://127.0.0.1:1"}, restclient.Kinds{corev1.SchemeGroupVersion: {&corev1.Node{}}})
	require.NoError(t, err)
	assert.PanicsWithValue(t, "restclient: discovery.k8s.io/v1 is not among the versions of the kinds that New was given",
		func() { s.Group(discoveryv1.SchemeGroupVersion) })
}
