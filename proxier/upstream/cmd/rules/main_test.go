package main

import (
	"bytes"
	"io/fs"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/internal/dumps"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
)

// own is the node of the recordings.
const own = "demo-worker"

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// recording is what the kube-proxy of a version wrote in a mode when it was recorded.
func recording(t *testing.T, minor, mode string) string {
	t.Helper()
	text, err := fs.ReadFile(dumps.KubeProxy(), path.Join(minor, mode+".rules"))
	require.NoError(t, err)
	return string(text)
}

// objects is a file with the objects of the recorded cluster.
func objects(t *testing.T) string {
	t.Helper()
	text, err := fs.ReadFile(dumps.Kind(), "objects.yaml")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "objects.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

// fates are the fates of all packets on the node with these rules.
func fates(t *testing.T, rules string, beside *forall.Fates) *forall.Fates {
	t.Helper()
	local := []netip.Addr{netip.MustParseAddr("172.18.0.3"), netip.MustParseAddr("fc00:f853:ccd:e793::3")}
	saved, err := snapshot.ReadSaved("the rules", strings.NewReader(rules), snapshot.RulesOptions{Local: local})
	require.NoError(t, err)
	host, err := saved.Host(inet.Input{})
	require.NoError(t, err)
	f, err := forall.Of(host, forall.Options{Chance: forall.Exact, Against: beside})
	require.NoError(t, err)
	return f
}

// lines are those of a text, sorted: kube-proxy writes services in the order of a Go map.
func lines(text string) []string { return slices.Sorted(strings.SplitSeq(text, "\n")) }

// TestRecordingsAreWhatIsWritten has the linked kube-proxy write what internal/dumps/kube-proxy has of its version: the same
// lines, with the same fates of all packets. v1.36, which is not recorded, has the fates of v1.37.
func TestRecordingsAreWhatIsWritten(t *testing.T) {
	for _, name := range []string{"iptables", "nftables"} {
		t.Run(name, func(t *testing.T) {
			mode, err := cases.ModeNamed(name)
			require.NoError(t, err)
			var out bytes.Buffer
			require.NoError(t, (&options{mode: mode, node: own}).write(objects(t), &out))
			minor := map[int]string{35: "v1.35", 36: "v1.37", 37: "v1.37"}[peers.Minor]
			recorded := recording(t, minor, name)
			if peers.Minor != 36 {
				assert.Equal(t, lines(recorded), lines(out.String()))
			}
			before := fates(t, recorded, nil)
			assert.True(t, before.Equal(fates(t, out.String(), before)), "some packets have other fates")
		})
	}
}

func TestWriteRefuses(t *testing.T) {
	for name, c := range map[string]struct{ file, node, want string }{
		"a node that is not there": {file: objects(t), node: "nobody", want: `no Node "nobody"`},
		"a file that is not there": {file: "nowhere.yaml", node: own, want: "nowhere.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.ErrorContains(t, (&options{node: c.node}).write(c.file, &bytes.Buffer{}), c.want)
		})
	}
}
