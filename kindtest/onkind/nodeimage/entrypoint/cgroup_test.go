//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const mounts = `1187 1186 0:81 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs rw,mode=755
1188 1187 0:31 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:1 master:9 - cgroup cgroup rw,cpu,cpuacct
1189 1187 0:35 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory
1190 1187 0:29 / /sys/fs/cgroup/systemd rw,nosuid - cgroup systemd rw,xattr,name=systemd
1191 1187 0:30 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw
1192 1187 0:33 /
`

func TestHierarchies(t *testing.T) {
	assert.Equal(t, []hierarchy{
		{"/sys/fs/cgroup/cpu,cpuacct", []string{"rw", "cpu", "cpuacct"}},
		{"/sys/fs/cgroup/memory", []string{"rw", "memory"}},
		{"/sys/fs/cgroup/systemd", []string{"rw", "xattr", "name=systemd"}},
	}, hierarchies(mounts))
	assert.Empty(t, hierarchies(""))
}

func TestMountedOnly(t *testing.T) {
	const all = "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t1\t1\nmemory\t4\t27\t1\nnet_cls\t0\t1\t1\nhugetlb\t0\t1\t1\n\n"
	assert.Equal(t, "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t1\t1\nmemory\t4\t27\t1\n", mountedOnly(all, hierarchies(mounts)))
	assert.Equal(t, all, mountedOnly(all, nil), "cgroup v2")
}

func TestMakeCgroupsOfVersion1(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{"cpuset/cpuset.cpus": "0-1\n", "cpuset/cpuset.mems": "0\n", "memory/tasks": ""}
	write(t, root, files)
	require.NoError(t, os.Mkdir(filepath.Join(root, "cpu,cpuacct"), 0o755), "systemd makes it and mounts nothing there")
	var mounts string
	for _, name := range []string{"cpuset", "memory"} {
		mounts += "1 1 0:1 / " + filepath.Join(root, name) + " rw - cgroup cgroup rw," + name + "\n"
	}
	for range 2 { // the kubelet may start again
		require.NoError(t, makeCgroups(root, mounts))
	}
	for _, name := range kubeletCgroups {
		assert.DirExists(t, filepath.Join(root, "memory", name))
		assert.NoFileExists(t, filepath.Join(root, "memory", name, "cpuset.cpus"))
		assert.NoDirExists(t, filepath.Join(root, "cpu,cpuacct", name))
		assert.Equal(t, "0-1\n", read(t, root, "cpuset", name, "cpuset.cpus"))
		assert.Equal(t, "0\n", read(t, root, "cpuset", name, "cpuset.mems"))
	}
	require.NoError(t, os.RemoveAll(filepath.Join(root, "memory")))
	assert.ErrorContains(t, makeCgroups(root, mounts), "memory/kubelet")
}

func TestMakeCgroupsOfVersion2(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{"cgroup.controllers": "cpu memory pids\n", "cgroup.procs": "", "init.scope/cgroup.procs": "1\n"}
	write(t, root, files)
	for range 2 { // the kubelet may start again
		require.NoError(t, makeCgroups(root, mounts))
	}
	for _, name := range append(kubeletCgroups, ".") {
		assert.Equal(t, "+cpu +memory +pids", read(t, root, name, "cgroup.subtree_control"))
	}
	assert.NoFileExists(t, filepath.Join(root, "init.scope", "cgroup.subtree_control"), "what is systemd's stays so")
	assert.NoFileExists(t, filepath.Join(root, "kubelet", "cpuset.cpus"), "which v1 needs")

	write(t, root, map[string]string{"cgroup.controllers": "\n"})
	require.NoError(t, os.Remove(filepath.Join(root, "cgroup.subtree_control")))
	require.NoError(t, makeCgroups(root, ""))
	assert.NoFileExists(t, filepath.Join(root, "cgroup.subtree_control"), "there is nothing to enable")
}

// TestVersion2WaitsForSystemd: before that the kernel would only say that something is busy.
func TestVersion2WaitsForSystemd(t *testing.T) {
	for processes, wrong := range map[string]string{"": "", "0\n0\n": "", "0\n17\n": "process 17 is in the root cgroup"} {
		root := t.TempDir()
		write(t, root, map[string]string{"cgroup.controllers": "cpu\n", "cgroup.procs": processes})
		err := makeCgroups(root, "")
		if wrong == "" {
			require.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, err, wrong)
		assert.NoDirExists(t, filepath.Join(root, "kubelet"))
	}
}

func TestMachineIDIsNewEachTime(t *testing.T) {
	first := machineID()
	assert.Regexp(t, "^[0-9a-f]{32}\n$", first)
	assert.NotEqual(t, first, machineID())
}

func TestStartWantsACommand(t *testing.T) {
	assert.ErrorContains(t, start(nil), "/sbin/init")
}

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(parts...))
	require.NoError(t, err)
	return string(content)
}
