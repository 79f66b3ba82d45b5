package api

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// rangesListener is a proxier that is told of ranges. It is no consumer of anything else.
type rangesListener struct {
	config.Handler
	told []string
}

func (l *rangesListener) OnServiceCIDRsChanged(cidrs []string) {
	l.told = append(l.told, strings.Join(cidrs, " "))
}

// deaf is a proxier that nobody tells of nodes, services and slices.
type deaf struct{ config.Handler }

func (deaf) OnNodeSynced()           {}
func (deaf) OnServiceSynced()        {}
func (deaf) OnEndpointSlicesSynced() {}

func serviceCIDR(t *testing.T, name, cidrs string) manifest.Object {
	objects, err := manifest.ReadObjects("a ServiceCIDR", strings.NewReader(
		"{apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, metadata: {name: "+name+"}, spec: {cidrs: "+cidrs+"}}"))
	require.NoError(t, err)
	return objects[0]
}

// TestProxiersAreToldOfServiceCIDRs: of all ranges at each change, in the order of names, as long as they are fed.
func TestProxiersAreToldOfServiceCIDRs(t *testing.T) {
	first := []manifest.Object{serviceCIDR(t, "b", "[10.1.0.0/16]")}
	direct, err := NewDirect(first)
	require.NoError(t, err)
	watched, err := New(t.Context(), first, klog.Logger{})
	require.NoError(t, err)
	for name, kube := range map[string]kube{"direct": direct, "watched": watched} {
		t.Run(name, func(t *testing.T) {
			l := &rangesListener{Handler: deaf{}}
			queue := NewQueue("node1", l)
			remove, err := kube.Feed(t.Context(), queue)
			require.NoError(t, err)
			require.NoError(t, kube.Apply(t.Context(), []manifest.Object{serviceCIDR(t, "a", "[10.2.0.0/16, 'fd00::/112']")}))
			queue.Hold(true)
			require.NoError(t, kube.Delete(t.Context(), []manifest.Ref{{Kind: "ServiceCIDR", Name: "b"}}))
			assert.Equal(t, []string{"10.2.0.0/16", "fd00::/112", "10.1.0.0/16"}, queue.Knowledge().ServiceCIDRs, "the change is held back")
			require.NoError(t, kube.Delete(t.Context(), []manifest.Ref{{Kind: "ServiceCIDR", Name: "a"}}))
			queue.Hold(false)
			assert.Equal(t, []string{"10.1.0.0/16", "10.2.0.0/16 fd00::/112 10.1.0.0/16", ""}, l.told)
			remove()
			require.NoError(t, kube.Apply(t.Context(), []manifest.Object{serviceCIDR(t, "c", "[10.3.0.0/16]")}))
			assert.Len(t, l.told, 3)
			require.Error(t, kube.Delete(t.Context(), []manifest.Ref{{Kind: "ServiceCIDR", Name: "a"}}), "it is gone")
		})
	}
}
