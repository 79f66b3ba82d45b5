package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

// TestLoading runs testdata/loading: a scenario, and what it is resolved into or
// the errors it is refused with.
func TestLoading(t *testing.T) {
	datadriven.Walk(t, "testdata/loading", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s, err := (&Loader{Controller: controller.New}).Read("testdata/in.yaml", strings.NewReader(d.Input))
			if err != nil {
				return strings.ReplaceAll(err.Error(), "testdata/", "")
			}
			cluster := s.cluster
			if d.Cmd == "topology" {
				return printCluster(cluster)
			}
			return fmt.Sprintf("%s: %s, %s", s.Name, count(len(s.Steps), "step"), count(len(cluster.Objects), "object"))
		})
	})
}

func printCluster(c *Cluster) string {
	var b strings.Builder
	for _, n := range c.Nodes {
		config := c.Configs[n.Name]
		fmt.Fprintf(&b, "node %s %v extra %v pods %v listen %v clusterCIDR %q masqueradeAll %v\n", n.Name, n.Addresses, n.ExtraAddresses,
			n.PodCIDRs, n.Listen, config.ClusterCIDR, config.IPTables.MasqueradeAll)
	}
	for _, p := range c.Pods {
		fmt.Fprintf(&b, "pod %s on %s %v\n", p.Name, p.Node, p.Addresses)
	}
	for _, m := range c.Outside {
		fmt.Fprintf(&b, "outside %s %v\n", m.Name, m.Addresses)
	}
	fmt.Fprintf(&b, "underlay %v router %v\n", c.Underlay, c.Router)
	return b.String()
}

func TestLoadReadsFoldersSorted(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("b.yaml", "{name: b, steps: [{sync: true}]}")
	write("a/z.yaml", "{name: z, steps: [{sync: true}], objects: [{file: ../objects.txt}]}")
	write("objects.txt", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	write("broken.yaml", "{name: broken}")
	write("README.md", "not a scenario")
	loaded, err := Load(dir)
	require.ErrorContains(t, err, `broken.yaml:1:1: "steps" is missing`)
	require.Len(t, loaded, 2)
	assert.Equal(t, "z", loaded[0].Name)
	assert.Equal(t, "b", loaded[1].Name)
	assert.Len(t, loaded[0].Objects, 1)

	_, err = Load(filepath.Join(dir, "nothing"))
	require.ErrorContains(t, err, "find scenarios")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	_, err = Load(filepath.Join(dir, "empty"))
	require.ErrorContains(t, err, "no scenario in")
}

// TestLoadTakesNoObjectsForScenarios: files that scenarios include stand beside them, under the same endings.
func TestLoadTakesNoObjectsForScenarios(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	write("a.yml", "{name: a, steps: [{sync: true}], objects: [{file: shop.yaml}]}")
	shop := write("shop.yaml",
		"{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n---\n{apiVersion: v1, kind: Node, metadata: {name: n}}")
	write("odd.yaml", "{apiVersion: v1, kind: Scenario, steps: []}")
	files, err := loadEach(strings.NewReader("{name: piped, steps: [{sync: true}]}"), dir, "-")
	require.NoError(t, err)
	require.Len(t, files, 3, "shop.yaml is none")
	assert.Equal(t, "a", files[0].Scenario.Name)
	assert.Len(t, files[0].Scenario.Objects, 2)
	require.ErrorContains(t, files[1].Err, `odd.yaml:1:2: unknown field "apiVersion"`)
	assert.Equal(t, "<stdin>", files[2].Path)
	assert.Equal(t, "piped", files[2].Scenario.Name)

	files, err = loadEach(nil, shop)
	require.NoError(t, err)
	require.Len(t, files, 1, "it was asked for")
	require.ErrorContains(t, files[0].Err, "shop.yaml:1:1: Kubernetes objects, and no scenario")
	_, err = loadEach(strings.NewReader("{name: piped, steps: [{sync: true}]}"), "-", "-")
	require.EqualError(t, err, "- is given twice: standard input can be read only once")
	_, err = Load("-")
	require.EqualError(t, err, "-: there is no standard input to read")
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("name: a\nsteps: [{connect: {from: node1, to: tcp 10.0.0.1:80, expect: reject}}]\n"))
	f.Add([]byte("name: a\ntopology: {ipFamily: dual, nodes: 3, pods: [{name: p, node: node1}]}\nsteps: [{sync: [node1]}]\n"))
	f.Add([]byte("name: a\nsteps: [{send: {node: node1, packet: 'udp 1.1.1.1:1 > 2.2.2.2:2 local', expect: {drop: x}}}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Read("in.yaml", strings.NewReader(string(data)))
		if err != nil {
			if !strings.Contains(err.Error(), "in.yaml:") && !strings.Contains(err.Error(), ".yaml: ") {
				t.Errorf("no position: %v", err)
			}
			return
		}
		if _, errs := resolve(s, nil); len(errs) > 0 || s.cluster == nil && !s.needsController() {
			t.Errorf("read, and not resolved: %v", errs)
		}
	})
}
