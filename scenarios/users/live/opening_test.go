package live

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

func TestOpenings(t *testing.T) {
	c := recorded(t, "legacy", dumpNodes...)
	for _, row := range []struct {
		name, from, to string
		node           string // where the packet begins
		packets        []string
		calls          string
	}{
		{"a pod", aClient, web, "demo-worker", []string{"tcp 10.244.2.2:40000 > 10.96.125.22:80"}, "TCP 10.96.125.22:80"},
		{"all ports", aClient, "svc/web", "demo-worker",
			[]string{"tcp 10.244.2.2:40000 > 10.96.125.22:80", "udp 10.244.2.2:40000 > 10.96.125.22:53"},
			"TCP 10.96.125.22:80, UDP 10.96.125.22:53"},
		{"both families", "node/demo-worker2", "svc/dual", "demo-worker2",
			[]string{"tcp 172.18.0.2:40000 > 10.96.8.55:80", "tcp [fc00:f853:ccd:e793::2]:40000 > [fd00:10:96::2b36]:80"},
			"TCP 10.96.8.55:80, TCP [fd00:10:96::2b36]:80"},
		{"outside", "outside", "node/demo-worker:30081", "", []string{"tcp 198.51.100.10:40000 > 172.18.0.3:30081"},
			"TCP 172.18.0.3:30081 by demo-control-plane"},
		{"an echo", "10.244.2.2", "10.244.1.2", "demo-worker", []string{"icmp 10.244.2.2 > 10.244.1.2"}, "ICMP 10.244.1.2"},
		{"an address outside", "192.0.2.9", web, "", []string{"tcp 192.0.2.9:40000 > 10.96.125.22:80"}, "TCP 10.96.125.22:80"},
		{"a pod of the node's network", "pod/etcd-demo-control-plane", web, "demo-control-plane",
			[]string{"tcp 172.18.0.4:40000 > 10.96.125.22:80"}, "TCP 10.96.125.22:80"},
	} {
		t.Run(row.name, func(t *testing.T) {
			openings, err := c.Openings(row.from, row.to)
			require.NoError(t, err)
			var packets, calls []string
			for i := range openings {
				o := &openings[i]
				written, err := inet.ParseInput(o.Full())
				require.NoError(t, err)
				assert.Equal(t, written.Full(), o.Full())
				require.NoError(t, checkFirst(o.Input))
				assert.Equal(t, row.node, o.Source.Node)
				packets, calls = append(packets, o.String()), append(calls, o.Call)
			}
			assert.Equal(t, row.packets, packets[:min(len(packets), len(row.packets))])
			assert.Contains(t, strings.Join(calls, ", "), row.calls)
		})
	}
}

func TestOpeningsSayWhatIsMissing(t *testing.T) {
	for _, row := range []struct {
		name, from, to string
		nodes          []string
		says           string
	}{
		{"the client's node", aClient, web, []string{"demo-worker2"},
			" begin on demo-worker, and there is no snapshot of demo-worker (its kubelet is silent): run chainwalk snapshot there"},
		{"any node", aClient, web, nil, "no node has a snapshot"},
		{"such a port", aClient, "svc/web:81", dumpNodes, "svc/web:81: shop/web has no port 81: it has http 80/TCP"},
		{"an address outside", "outside", web, dumpNodes, "shop/web has no address for clients outside: it is of type ClusterIP"},
		{"a client", "svc/web", web, dumpNodes, "a service opens no connections"},
		{"a pod", "pod/nobody", web, dumpNodes, "no pod has that name"},
		{"an address", "pod/shop/pending", web, dumpNodes, "pod/shop/pending"},
		{"endpoints of a headless service", aClient, "svc/headless", dumpNodes, "The selector of shop/headless"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := unserved(t, "headless", row.nodes...)
			pending, err := manifest.New(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "pending"}})
			require.NoError(t, err)
			c.Objects = append(c.Objects, pending)
			c.NoSnapshot = map[string]string{"demo-worker": "its kubelet is silent"}
			_, err = c.Openings(row.from, row.to)
			assert.ErrorContains(t, err, row.says)
		})
	}
}

// unserved is the recorded cluster with a service that selects no pod.
func unserved(t *testing.T, service string, nodes ...string) *Cluster {
	t.Helper()
	c := recorded(t, "legacy", nodes...)
	c.Objects = slices.DeleteFunc(c.Objects, func(o manifest.Object) bool {
		slice, is := o.Object.(*discoveryv1.EndpointSlice)
		return is && slice.Labels[discoveryv1.LabelServiceName] == service
	})
	for i := range c.Objects {
		if s, is := c.Objects[i].Object.(*corev1.Service); is && s.Name == service {
			s = s.DeepCopy()
			s.Spec.Selector = map[string]string{"app": "nobody"}
			c.Objects[i].Object = s
		}
	}
	return c
}

func TestWhyOfAHeadlessServiceWithoutEndpoints(t *testing.T) {
	w, err := unserved(t, "headless", dumpNodes...).Why(t.Context(), aClient, "svc/headless")
	require.NoError(t, err)
	assert.Equal(t, WhyNo, w.Answer)
	assert.Equal(t, cause.SelectsNothing, w.Causes[0].Code)
}

func TestWhyFromOutsideIsUnknownWithoutSnapshots(t *testing.T) {
	for _, to := range []string{"pod/one-78b79d6f88-h7zhv:80", "svc/lb-local", "10.244.2.2:80"} {
		w, err := recorded(t, "legacy").Why(t.Context(), "outside", to)
		require.NoError(t, err)
		assert.Equal(t, WhyUnknown, w.Answer, to)
		assert.Contains(t, w.Sentence, "there is no snapshot of it", to)
	}
}
