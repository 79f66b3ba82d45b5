package gather

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// TestAFolderIsReadAsItWasGathered holds that other commands read what was kept.
func TestAFolderIsReadAsItWasGathered(t *testing.T) {
	s := newServer(t, "node1", "node2")
	s.lists["configmaps"] = []any{corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-proxy"},
		Data: map[string]string{"config.conf": "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"}}}
	s.lists["services"] = []any{corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.1", ClusterIPs: []string{"10.96.0.1"}, Ports: []corev1.ServicePort{{Port: 80}}}}}
	s.status = func(pod *corev1.Pod, _ int) corev1.PodStatus {
		if pod.Spec.NodeName == "node2" {
			return waitingFor("InvalidImageName", "bad")
		}
		return running()
	}
	got, err := s.gatherer().Gather(t.Context())
	require.NoError(t, err)
	folder := filepath.Join(t.TempDir(), "kept")
	require.NoError(t, got.Save(folder, time.Unix(0, 0)))

	read, err := ReadFolder(folder)
	require.NoError(t, err)
	assert.Equal(t, got.Silent(), read.Silent)
	require.Len(t, read.Snapshots, 1)
	text, err := os.ReadFile(read.Snapshots[0])
	require.NoError(t, err)
	assert.Equal(t, string(got.Nodes[0].Text), string(text))
	var objects []manifest.Object
	for _, file := range read.Objects {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		more, err := manifest.ReadObjects(file, bytes.NewReader(text))
		require.NoError(t, err)
		objects = append(objects, more...)
	}
	require.Len(t, objects, len(got.Objects))
	for i := range objects {
		assert.Equal(t, got.Objects[i].Object, objects[i].Object)
	}
	readme, err := os.ReadFile(filepath.Join(folder, "README"))
	require.NoError(t, err)
	assert.Contains(t, string(readme), "1 of 2 nodes")
	assert.Contains(t, string(readme), "node2 gave no snapshot: the image")

	assert.ErrorContains(t, got.Save(folder, time.Unix(0, 0)), "not empty")
	_, err = ReadFolder(t.TempDir())
	assert.ErrorContains(t, err, "want a folder")
}

func TestANodeWithAnOddNameIsNoFile(t *testing.T) {
	got := &Gathered{Nodes: []Node{{Name: "../../etc/cron.d/x", Why: "odd"}}}
	assert.ErrorContains(t, got.Save(filepath.Join(t.TempDir(), "kept"), time.Unix(0, 0)), "no name for a file")
}
