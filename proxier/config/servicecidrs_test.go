package config_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	networking "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/proxier/config/clientset"
)

// cidrCalls is a ServiceCIDRHandler.
type cidrCalls chan []string

func (c cidrCalls) OnServiceCIDRsChanged(cidrs []string) { c <- cidrs }

func serviceCIDR(name string, cidrs ...string) *networking.ServiceCIDR {
	return &networking.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networking.ServiceCIDRSpec{CIDRs: cidrs}}
}

// knowing is a clientset whose API server knows ServiceCIDRs.
func knowing(objects ...runtime.Object) *fake.Clientset {
	client := fake.NewClientset(objects...)
	client.Resources = []*metav1.APIResourceList{{
		GroupVersion: "networking.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "ingresses"}, {Name: "servicecidrs"}},
	}}
	return client
}

func TestServiceCIDRs(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	client, calls := knowing(serviceCIDR("kubernetes", "10.96.0.0/12", "fd00:10:96::/112")), make(cidrCalls)
	require.NoError(t, config.WatchServiceCIDRs(ctx, clientset.API(client), calls))
	assert.Equal(t, []string{"10.96.0.0/12", "fd00:10:96::/112"}, <-calls)

	all := client.NetworkingV1().ServiceCIDRs()
	_, err := all.Create(ctx, serviceCIDR("more", "10.0.0.0/24", "10.96.0.0/12"), metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Equal(t, []string{"10.0.0.0/24", "10.96.0.0/12", "fd00:10:96::/112"}, <-calls, "sorted, and each once")

	same := serviceCIDR("more", "10.96.0.0/12", "10.0.0.0/24")
	same.Labels = map[string]string{"a": "b"}
	_, err = all.Update(ctx, same, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, all.Delete(ctx, "kubernetes", metav1.DeleteOptions{}))
	assert.Equal(t, []string{"10.0.0.0/24", "10.96.0.0/12"}, <-calls, "the update changed no range")
	require.NoError(t, all.Delete(ctx, "more", metav1.DeleteOptions{}))
	assert.Empty(t, <-calls)
}

func TestServiceCIDRsOfAnOldAPIServer(t *testing.T) {
	client := fake.NewClientset()
	require.NoError(t, config.WatchServiceCIDRs(t.Context(), clientset.API(client), nil), "it does not know the group")
	client.Resources = []*metav1.APIResourceList{{GroupVersion: "networking.k8s.io/v1",
		APIResources: []metav1.APIResource{{Name: "ingresses"}}}}
	require.NoError(t, config.WatchServiceCIDRs(t.Context(), clientset.API(client), nil), "it does not know the kind")
	for _, action := range client.Actions() {
		assert.NotEqual(t, "list", action.GetVerb())
	}
}

func TestServiceCIDRsOfABrokenAPIServer(t *testing.T) {
	client := knowing()
	client.PrependReactor("get", "group", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("broken") })
	client.PrependReactor("get", "resource", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("broken")
	})
	err := config.WatchServiceCIDRs(t.Context(), clientset.API(client), nil)
	require.ErrorContains(t, err, "ask for the resources of networking.k8s.io/v1: broken")
}
