package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/chainwalk/chainwalk/kindtest/onkind/apiclient/clientset"
)

// kubeadmConfig is what kubeadm writes, in part.
const kubeadmConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
bindAddress: 0.0.0.0
clusterCIDR: 10.244.0.0/16
conntrack: {maxPerCore: 0, min: null, tcpBeLiberal: true}
iptables: {localhostNodePorts: null, masqueradeAll: true, minSyncPeriod: 1s, syncPeriod: 0s}
kind: KubeProxyConfiguration
mode: nftables
nodePortAddresses: null
`

func TestForeignConfigurationIsReadAsKubeadmWritesIt(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-proxy"}
	daemons := &appsv1.DaemonSet{ObjectMeta: meta}
	file := func(data map[string]string) *corev1.ConfigMap { return &corev1.ConfigMap{ObjectMeta: meta, Data: data} }
	for about, row := range map[string]struct {
		objects []runtime.Object
		none    bool
		mode    string
		wrong   string
	}{
		"no kube-proxy":            {none: true},
		"a ConfigMap that is left": {objects: []runtime.Object{file(map[string]string{foreignFile: kubeadmConfig})}, none: true},
		"kubeadm's": {objects: []runtime.Object{daemons, file(map[string]string{foreignFile: kubeadmConfig})},
			mode: "nftables"},
		"the default mode":         {objects: []runtime.Object{daemons, file(map[string]string{foreignFile: `mode: ""`})}, mode: "iptables"},
		"no ConfigMap":             {objects: []runtime.Object{daemons}, wrong: "delete the DaemonSet"},
		"a ConfigMap of something": {objects: []runtime.Object{daemons, file(map[string]string{"a": "b"})}, wrong: "has no config.conf"},
		"a file that cannot be read": {objects: []runtime.Object{daemons, file(map[string]string{foreignFile: "mode: ["})},
			wrong: "config.conf"},
		"a field of an unknown shape": {objects: []runtime.Object{daemons, file(map[string]string{foreignFile: "iptables: 3"})},
			wrong: "config.conf"},
	} {
		t.Run(about, func(t *testing.T) {
			got, err := foreignConfiguration(t.Context(), clientset.Client{Interface: fake.NewClientset(row.objects...)})
			if row.wrong != "" {
				require.ErrorContains(t, err, row.wrong)
				return
			}
			require.NoError(t, err)
			c := newCluster(Config{Proxy: Proxy{Mode: "ours"}})
			c.foreign = got
			if row.none {
				assert.Nil(t, c.Foreign())
				assert.Equal(t, "ours", c.Mode())
				return
			}
			assert.Equal(t, row.mode, c.Mode())
			assert.ErrorIs(t, c.mayChange(nil), errForeign)
		})
	}
	got, err := foreignConfiguration(t.Context(),
		clientset.Client{Interface: fake.NewClientset(daemons, file(map[string]string{foreignFile: kubeadmConfig}))})
	require.NoError(t, err)
	assert.True(t, got.IPTables.MasqueradeAll)
	assert.True(t, got.Conntrack.TCPBeLiberal)
	assert.Equal(t, "10.244.0.0/16", got.ClusterCIDR)
	assert.Nil(t, got.IPTables.LocalhostNodePorts)
}
