package nodeimage

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestArchiveHoldsImages(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"etcd", "pause"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("program "+name), 0o600))
	}
	images := []image{
		{name: "registry/etcd:3", program: filepath.Join(folder, "etcd")},
		{name: "registry/pause:1", program: filepath.Join(folder, "pause"), entry: []string{"/pause"}},
	}
	var first, second bytes.Buffer
	require.NoError(t, writeArchive(&first, images))
	require.NoError(t, writeArchive(&second, images))
	assert.True(t, bytes.Equal(first.Bytes(), second.Bytes()), "the same programs give the same bytes")

	files := untar(t, &first)
	var manifest []archived
	require.NoError(t, json.Unmarshal(files["manifest.json"].content, &manifest))
	require.Len(t, manifest, 2)
	for n, i := range images {
		assert.Equal(t, []string{i.name}, manifest[n].RepoTags)
		var config configuration
		require.NoError(t, json.Unmarshal(files[manifest[n].Config].content, &config))
		assert.Equal(t, i.entry, config.Config.Entrypoint)
		assert.Equal(t, []string{"PATH=/usr/local/bin"}, config.Config.Env)

		require.Len(t, manifest[n].Layers, 1)
		layer, err := gzip.NewReader(bytes.NewReader(files[manifest[n].Layers[0]].content))
		require.NoError(t, err)
		plain, err := io.ReadAll(layer)
		require.NoError(t, err)
		assert.Equal(t, []string{"sha256:" + digest(plain)}, config.RootFS.DiffIDs)
		program := untar(t, bytes.NewReader(plain))["usr/local/bin/"+filepath.Base(i.program)]
		assert.Equal(t, "program "+filepath.Base(i.program), string(program.content))
		assert.Equal(t, int64(0o755), program.header.Mode)
	}
}

func TestArchiveWithoutAProgram(t *testing.T) {
	err := writeArchive(io.Discard, []image{{name: "registry/etcd:3", program: filepath.Join(t.TempDir(), "etcd")}})
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, "registry/etcd:3")
}

func TestControlPlaneImages(t *testing.T) {
	images, err := controlPlane([]string{"registry.k8s.io/kube-apiserver:v1", "registry.k8s.io/kube-proxy:v1",
		"registry.k8s.io/coredns/coredns:v2", "registry.k8s.io/pause:3", "registry.k8s.io/etcd:3.6-0"}, Binaries{"/built"}, "/own")
	require.NoError(t, err)
	assert.Equal(t, []image{
		{name: "registry.k8s.io/kube-apiserver:v1", program: "/built/kube-apiserver"},
		{name: "registry.k8s.io/pause:3", program: "/own/pause", entry: []string{"/usr/local/bin/pause"}},
		{name: "registry.k8s.io/etcd:3.6-0", program: "/built/etcd"},
	}, images)
	pause, err := pauseImage(images)
	require.NoError(t, err)
	assert.Equal(t, "registry.k8s.io/pause:3", pause)
	_, err = pauseImage(images[:1])
	assert.Error(t, err)
	_, err = controlPlane([]string{"registry.k8s.io/kube-mystery:v1"}, Binaries{}, "")
	assert.ErrorContains(t, err, "kube-mystery")
}

func TestLayerOfANode(t *testing.T) {
	kubelet := filepath.Join(t.TempDir(), "kubelet")
	require.NoError(t, os.WriteFile(kubelet, []byte("kubelet"), 0o600))
	var layer bytes.Buffer
	require.NoError(t, writeLayer(&layer, map[string]string{"usr/bin/kubelet": kubelet}, "registry/pause:1"))
	files := untar(t, &layer)
	assert.Equal(t, kubernetesVersion+"\n", string(files["kind/version"].content))
	assert.Contains(t, string(files["etc/containerd/config.toml"].content), `sandbox_image = "registry/pause:1"`)
	assert.Equal(t, int64(0o755), files["usr/bin/kubelet"].header.Mode)
	assert.Equal(t, int64(0o755), files["usr/local/bin/crictl"].header.Mode)
	assert.Equal(t, int64(0o644), files["etc/systemd/system/kubelet.service.d/10-kubeadm.conf"].header.Mode)
	assert.Equal(t, "/usr/lib/cni", files["opt/cni/bin"].header.Linkname)
	assert.Equal(t, byte(tar.TypeDir), files["etc/kubernetes/manifests/"].header.Typeflag)
	for name, f := range files {
		assert.Zero(t, f.header.Uid+f.header.Gid, name)
		assert.NotContains(t, string(f.content), placeholder, name)
	}
}

// unpacked is a file of an archive.
type unpacked struct {
	header  *tar.Header
	content []byte
}

func untar(t *testing.T, archive io.Reader) map[string]unpacked {
	t.Helper()
	files := map[string]unpacked{}
	for reader := tar.NewReader(archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		content, err := io.ReadAll(reader)
		require.NoError(t, err)
		require.NotContains(t, files, header.Name)
		files[header.Name] = unpacked{header, content}
	}
}
