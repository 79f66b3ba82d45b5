package scenarios

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/internal/race"
	cases "github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// shipped are the texts of all scenario files, and those of the page about the format.
func shipped(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := filepath.Glob("testdata/*/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		out[file] = string(text)
	}
	return out
}

func written(t *testing.T, s *Scenario, head ...string) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, Write(&out, s, head...))
	return out.String()
}

func TestWhatIsWrittenIsReadBackAsItIs(t *testing.T) {
	texts := shipped(t)
	for _, file := range race.Some(cases.Some(t, slices.Sorted(maps.Keys(texts)), 4), 2) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			s, err := Read(file, strings.NewReader(texts[file]))
			require.NoError(t, err)
			once := written(t, s, "a head", "of two lines\n\nand more")
			assert.True(t, strings.HasPrefix(once, "# a head\n# of two lines\n#\n# and more\nname: "), once[:60])
			again, err := Read(file, strings.NewReader(once))
			require.NoError(t, err, once)
			assert.Equal(t, meaning(s), meaning(again), once)
			assert.Equal(t, once, written(t, again, "a head", "of two lines\n\nand more"))
			assert.NotContains(t, once, "creationTimestamp: null")
			assert.Empty(t, readSchema(t).checkYAML(t, []byte(once)))
		})
	}
}

// meaning is a scenario without what says where and how it was written.
func meaning(s *Scenario) any { return meaningOf(reflect.ValueOf(*s)) }

func meaningOf(v reflect.Value) any {
	if v.CanInterface() {
		switch value := v.Interface().(type) {
		case document.Located:
			return nil
		case manifest.Object:
			return value.Object
		case KubeProxy:
			config := kubeproxyconfig.KubeProxyConfiguration{}
			value.Over(&config)
			return config
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return meaningOf(v.Elem())
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				out[f.Name] = meaningOf(v.Field(i))
			}
		}
		if len(out) > 0 {
			return out
		}
	case reflect.Slice:
		var out []any
		for i := range v.Len() {
			out = append(out, meaningOf(v.Index(i)))
		}
		return [2]any{v.IsNil(), out}
	case reflect.Map:
		out := map[string]any{}
		for _, key := range v.MapKeys() {
			out[key.String()] = meaningOf(v.MapIndex(key))
		}
		return out
	}
	return v.Interface()
}

func TestAScenarioMadeInGoRunsAndIsWritten(t *testing.T) {
	object, err := manifest.New(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{ClusterIP: "172.30.0.41", Ports: []corev1.ServicePort{{Port: 80}}},
	})
	require.NoError(t, err)
	assert.Equal(t, "service default/web", object.Ref().String())
	config, err := NewKubeProxy(map[string]any{"iptables.masqueradeAll": true, "iptables.masqueradeBit": 3, "clusterCIDR": ""})
	require.NoError(t, err)
	s := &Scenario{Name: "made in Go", KubeProxy: config, Objects: Objects{object}, Steps: []Step{{Sync: &NodeSet{All: true}}}}
	b := &canned{}
	result := Run(t.Context(), s, b)
	require.Len(t, result.Checks, 1)
	assert.Equal(t, "look for checks", result.Checks[0].Name, "all else held")
	assert.True(t, b.cluster.Configs["node1"].IPTables.MasqueradeAll)
	assert.Empty(t, b.cluster.Configs["node1"].ClusterCIDR)
	assert.Equal(t, `name: made in Go
kubeProxy: {clusterCIDR: "", iptables: {masqueradeAll: true, masqueradeBit: 3}}
objects:
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec: {clusterIP: 172.30.0.41, ports: [{port: 80}]}
steps:
- sync: true
`, written(t, s))

	s.Steps = []Step{{Sync: &NodeSet{Names: []string{"node7"}}}}
	result = Run(t.Context(), s, b)
	require.Len(t, result.Checks, 1)
	assert.Contains(t, result.Checks[0].Wrong, `there is no node "node7"`)
}

func TestKubeProxyOfAConfiguration(t *testing.T) {
	k, err := KubeProxyOf(&kubeproxyconfig.KubeProxyConfiguration{
		ClusterCIDR: "10.0.0.0/8", NodePortAddresses: []string{"primary"},
		IPTables: kubeproxyconfig.KubeProxyIPTablesConfiguration{SyncPeriod: metav1.Duration{Duration: 30e9}},
	})
	require.NoError(t, err)
	s := &Scenario{Name: "a", KubeProxy: k, Steps: []Step{{Sync: &NodeSet{}}}}
	assert.Equal(t, `name: a
kubeProxy: {clusterCIDR: 10.0.0.0/8, iptables: {syncPeriod: 30s}, nodePortAddresses: [primary]}
steps:
- sync: false
`, written(t, s))
	bit, off := int32(0), false
	k, err = KubeProxyOf(&kubeproxyconfig.KubeProxyConfiguration{
		IPTables: kubeproxyconfig.KubeProxyIPTablesConfiguration{MasqueradeBit: &bit, LocalhostNodePorts: &off},
	})
	require.NoError(t, err)
	s.KubeProxy = k
	assert.Contains(t, written(t, s), "kubeProxy: {clusterCIDR: \"\", iptables: {localhostNodePorts: false, masqueradeBit: 0}}\n",
		"these are other than the defaults")
	_, err = NewKubeProxy(map[string]any{"iptables.masqueradeAl": true})
	require.ErrorContains(t, err, `did you mean "masqueradeAll"?`)
}

func TestAnObjectThatWouldBeReadAsAnotherIsNotWritten(t *testing.T) {
	bare := manifest.Object{Object: &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Name: "web"},
	}}
	err := Write(&strings.Builder{}, &Scenario{Name: "a", Objects: Objects{bare}})
	require.ErrorContains(t, err, "write scenario a: objects: write service web: ")
}

// TestEveryFieldIsInAShippedFile keeps the format to what is shown, and run on every backend.
func TestEveryFieldIsInAShippedFile(t *testing.T) {
	race.OneGoroutine(t)
	used, known := map[string]bool{}, map[string]bool{}
	fieldsIn(reflect.TypeFor[Scenario](), known)
	for file, text := range shipped(t) {
		s, err := Read(file, strings.NewReader(text))
		require.NoError(t, err)
		usedIn(reflect.ValueOf(*s), used)
	}
	for name := range known {
		if strings.HasPrefix(name, "RunsOn.") || name == "Scenario.runsOn" {
			continue // every file runs on every backend
		}
		assert.True(t, used[name], "no file has %s", name)
	}
}

// fieldsIn are the fields of a type that a file can give, and those of the types of its fields.
func fieldsIn(t reflect.Type, known map[string]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name := t.Name() + "." + f.Tag.Get("json")
		if tag := f.Tag.Get("json"); tag == "" || tag == "-" || known[name] {
			continue
		}
		known[name] = true
		fieldsIn(f.Type, known)
	}
}

func usedIn(v reflect.Value, used map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			usedIn(v.Elem(), used)
		}
	case reflect.Slice:
		for i := range v.Len() {
			usedIn(v.Index(i), used)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if tag := f.Tag.Get("json"); tag != "" && tag != "-" && given(v.Field(i)) {
				used[v.Type().Name()+"."+tag] = true
				usedIn(v.Field(i), used)
			}
		}
	}
}

// The pods of a large cluster are written one at a time, as they would be all at once.
func TestALongListIsWrittenAsAWhole(t *testing.T) {
	for _, pods := range []int{longList, longList + 1, 3 * longList} {
		topology := Topology{IPFamily: FamilyDual, Nodes: Nodes{{Name: "one"}, {Name: "two"}}, Outside: []Machine{{Name: "far"}}}
		for i := range pods {
			pod := Pod{Name: fmt.Sprintf("web-%d", i), Node: "one"}
			if i%7 == 0 {
				pod.Addresses = slices.Repeat([]netip.Addr{netip.MustParseAddr("fd00:1234:5678:9abc:def0:1234:5678:9abc")}, 5)
			}
			topology.Pods = append(topology.Pods, pod)
		}
		s := Scenario{Name: "large", Topology: topology}
		whole := byTheLibrary(t, "topology", topology)
		require.Greater(t, strings.Count(whole, "\n"), pods)
		assert.Equal(t, "name: large\n"+whole, written(t, &s))
		assert.Equal(t, pods > longList, hasLongList(reflect.ValueOf(topology)))
	}
}

// byTheLibrary is a field as the library writes all of it at once.
func byTheLibrary(t *testing.T, name string, field any) string {
	t.Helper()
	value, err := nodeOf(reflect.ValueOf(field))
	require.NoError(t, err)
	root := mapping()
	root.Content = append(root.Content, document.Text(name), value)
	layOut(root, "", 0)
	var whole strings.Builder
	enc := yaml.NewEncoder(&whole)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	require.NoError(t, enc.Encode(root))
	return whole.String()
}

// TestManyCasesAreWrittenAsAWhole writes steps with many cases as the library writes all of the step.
func TestManyCasesAreWrittenAsAWhole(t *testing.T) {
	for _, cases := range []int{1, longList, longList + 1, 2 * longList, 3*longList + 7} {
		for _, name := range []string{"", "many cases"} {
			step := Step{Name: name}
			for i := range cases {
				c := Connect{From: "client", To: Target{Proto: "tcp", AddrPort: netip.MustParseAddrPort(fmt.Sprintf("10.96.0.10:%d", i+1))}}
				c.Expect = Expect{Untouched: true}
				if i%3 == 0 {
					c.Expect = Expect{RefusedBy: strings.Repeat("a long name ", 9) + fmt.Sprint(i)} // which takes lines of its own
				}
				step.Cases = append(step.Cases, c)
			}
			steps := []Step{{Name: "before"}, step, {Name: "behind"}}
			assert.Equal(t, "name: s\n"+byTheLibrary(t, "steps", steps), written(t, &Scenario{Name: "s", Steps: steps}))
		}
	}
}
