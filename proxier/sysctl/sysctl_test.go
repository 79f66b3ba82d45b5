package sysctl

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

const (
	maxFile  = "proc/sys/net/netfilter/nf_conntrack_max"
	hashFile = "sys/module/nf_conntrack/parameters/hashsize"
)

// limits is a limit of connections and what the hash table must hold for it.
func limits(entries int) []Setting {
	return []Setting{{maxFile, entries, true}, {hashFile, entries / 4, true}}
}

func TestWanted(t *testing.T) {
	timeout := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	timeouts := func(name string, value int) []Setting {
		return []Setting{{"proc/sys/net/netfilter/nf_conntrack_" + name, value, false}}
	}
	tests := []struct {
		name      string
		config    kubeproxy.KubeProxyConntrackConfiguration
		cores     int
		localhost bool
		want      []Setting
	}{
		{name: "nothing"},
		{name: "zeros leave all to the kernel", config: kubeproxy.KubeProxyConntrackConfiguration{MaxPerCore: ptr.To[int32](0),
			Min: ptr.To[int32](131072), TCPEstablishedTimeout: timeout(0), TCPCloseWaitTimeout: timeout(0)}},
		{name: "a minimum without a number per core", config: kubeproxy.KubeProxyConntrackConfiguration{Min: ptr.To[int32](5)}},
		{name: "a number per core", config: kubeproxy.KubeProxyConntrackConfiguration{MaxPerCore: ptr.To[int32](32768),
			Min: ptr.To[int32](131072)}, cores: 8, want: limits(262144)},
		{name: "a machine with few cores has the minimum", config: kubeproxy.KubeProxyConntrackConfiguration{MaxPerCore: ptr.To[int32](32768),
			Min: ptr.To[int32](131072)}, cores: 2, want: limits(131072)},
		{name: "no minimum", config: kubeproxy.KubeProxyConntrackConfiguration{MaxPerCore: ptr.To[int32](1000)}, cores: 2, want: limits(2000)},
		{name: "a machine with the most cores below the " +
			"limit", config: kubeproxy.KubeProxyConntrackConfiguration{MaxPerCore: ptr.To[int32](32768)},
			cores: 32, want: limits(1048576)},
		{name: "a machine with many cores", config: kubeproxy.KubeProxyConntrackConfiguration{MaxPerCore: ptr.To[int32](32768)},
			cores: 33, want: limits(1048576)},
		{name: "the largest numbers", config: kubeproxy.KubeProxyConntrackConfiguration{MaxPerCore: ptr.To[int32](math.MaxInt32),
			Min: ptr.To[int32](math.MaxInt32)}, cores: 8192, want: limits(1048576)},
		{name: "a minimum above that limit", config: kubeproxy.KubeProxyConntrackConfiguration{MaxPerCore: ptr.To[int32](1),
			Min: ptr.To[int32](2000000)}, cores: 4, want: limits(2000000)},
		{name: "established timeout", config: kubeproxy.KubeProxyConntrackConfiguration{TCPEstablishedTimeout: timeout(24 * time.Hour)},
			want: timeouts("tcp_timeout_established", 86400)},
		{name: "close-wait timeout", config: kubeproxy.KubeProxyConntrackConfiguration{TCPCloseWaitTimeout: timeout(time.Hour)},
			want: timeouts("tcp_timeout_close_wait", 3600)},
		{name: "UDP timeout", config: kubeproxy.KubeProxyConntrackConfiguration{UDPTimeout: metav1.Duration{Duration: 30 * time.Second}},
			want: timeouts("udp_timeout", 30)},
		{name: "UDP stream timeout",
			config: kubeproxy.KubeProxyConntrackConfiguration{UDPStreamTimeout: metav1.Duration{Duration: 2500 * time.Millisecond}},
			want:   timeouts("udp_timeout_stream", 2)},
		{name: "liberal", config: kubeproxy.KubeProxyConntrackConfiguration{TCPBeLiberal: true}, want: timeouts("tcp_be_liberal", 1)},
		{name: "node ports at localhost", localhost: true, want: []Setting{{"proc/sys/net/ipv4/conf/all/route_localnet", 1, false}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, Wanted(&test.config, test.cores, test.localhost))
		})
	}
}

// machine is a folder with files.
func machine(t *testing.T, files map[string]string) (*Files, string) {
	folder := t.TempDir()
	for path, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, path), []byte(text), 0o644))
	}
	f, err := Open(folder)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	return f, folder
}

func TestGetAndSet(t *testing.T) {
	f, folder := machine(t, map[string]string{"proc/sys/net/ipv4/ip_forward": "0\n", "proc/sys/net/ipv4/odd": "1\t2\n", "outside": "7"})
	value, err := f.Get("net/ipv4/ip_forward")
	require.NoError(t, err)
	assert.Equal(t, 0, value)
	require.NoError(t, f.Set("net/ipv4/ip_forward", 12))
	value, err = f.Get("net/ipv4/ip_forward")
	require.NoError(t, err)
	assert.Equal(t, 12, value)

	_, err = f.Get("net/ipv4/odd")
	require.EqualError(t, err, `reading the kernel setting proc/sys/net/ipv4/odd: not a number: "1\t2\n"`)
	_, err = f.Get("net/none")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, f.Set("net/none", 1), fs.ErrNotExist)
	assert.NoFileExists(t, filepath.Join(folder, "proc/sys/net/none"))
	_, err = f.Get("../../../outside")
	require.ErrorContains(t, err, "path escapes")
}

func TestOpenWithoutTheFolder(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestApply(t *testing.T) {
	tests := []struct {
		name    string
		files   map[string]string
		want    map[string]string
		changed []Setting
		err     string
	}{
		{name: "both are raised", files: map[string]string{maxFile: "65536\n", hashFile: "16384\n"},
			want: map[string]string{maxFile: "262144", hashFile: "65536"}, changed: limits(262144)},
		{name: "what is right is not written", files: map[string]string{maxFile: "262144\n", hashFile: "65536\n"},
			want: map[string]string{maxFile: "262144\n", hashFile: "65536\n"}},
		{name: "a larger hash table stays", files: map[string]string{maxFile: "262144\n", hashFile: "262144\n"},
			want: map[string]string{maxFile: "262144\n", hashFile: "262144\n"}},
		{name: "a higher limit stays, as with kube-proxy since v1.37", files: map[string]string{maxFile: "500000\n", hashFile: "65536\n"},
			want: map[string]string{maxFile: "500000\n", hashFile: "65536\n"}},
		{name: "a higher limit stays, with a hash table for what is asked for",
			files: map[string]string{maxFile: "500000\n", hashFile: "16384\n"},
			want:  map[string]string{maxFile: "500000\n", hashFile: "65536"}, changed: limits(262144)[1:]},
		{name: "a hash table of unknown size stays", files: map[string]string{maxFile: "262144\n", hashFile: "big\n"},
			want: map[string]string{maxFile: "262144\n", hashFile: "big\n"}, err: "not a number"},
		{name: "one that is missing does not keep the others", files: map[string]string{hashFile: "16384\n"},
			want: map[string]string{hashFile: "65536"}, changed: limits(262144)[1:], err: "is a kernel module not loaded (nf_conntrack)?"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, folder := machine(t, test.files)
			report, err := f.Apply(limits(262144))
			if test.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.err)
			}
			assert.Equal(t, Report{Changed: test.changed}, report)
			assert.Empty(t, report.Warning())
			for path, want := range test.want {
				text, err := os.ReadFile(filepath.Join(folder, path))
				require.NoError(t, err)
				assert.Equal(t, want, string(text), path)
			}
		})
	}
}

func TestCores(t *testing.T) {
	for text, want := range map[string]int{"0": 1, "0-3\n": 4, "0-3,5,8-15": 13, "1\n": 1} {
		f, _ := machine(t, map[string]string{"sys/devices/system/cpu/online": text})
		assert.Equal(t, want, f.Cores(), text)
	}
	for _, text := range []string{"", "3-0", "a", "0-", "-1", "0,,1", "0-65535"} {
		f, _ := machine(t, map[string]string{"sys/devices/system/cpu/online": text})
		assert.Equal(t, runtime.NumCPU(), f.Cores(), text)
	}
	f, _ := machine(t, nil)
	assert.Equal(t, runtime.NumCPU(), f.Cores())
}

// A list of distinct processors has as many as it names.
func TestCountProcessorsLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, want, next := "", 0, 0
		for i := range rapid.IntRange(1, 6).Draw(t, "parts") {
			first := next + rapid.IntRange(0, 9).Draw(t, "gap")
			last := first + rapid.IntRange(0, 9).Draw(t, "more")
			if i > 0 {
				list += ","
			}
			list += fmt.Sprint(first)
			if last > first {
				list += fmt.Sprintf("-%d", last)
			}
			want, next = want+last-first+1, last+1
		}
		n, ok := countProcessors(list)
		require.True(t, ok, list)
		require.Equal(t, want, n, list)
	})
}

// FuzzCountProcessors: any text gives a number of processors that a machine can have, or none.
func FuzzCountProcessors(f *testing.F) {
	f.Add("0-3,8")
	f.Add("7")
	f.Fuzz(func(t *testing.T, list string) {
		if n, ok := countProcessors(list); ok {
			require.Positive(t, n)
			require.LessOrEqual(t, n, 8192)
		}
	})
}
