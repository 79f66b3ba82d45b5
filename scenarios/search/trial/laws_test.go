package trial

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/twin"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
)

// The laws hold for everything that the shipped scenarios do, and each says something of some of them. A scenario is played once for all
// of them, and once more for each law that it has a twin by.
func TestLawsHold(t *testing.T) {
	all, err := shipped()
	require.NoError(t, err)
	originals := map[*scenarios.Scenario]*original{}
	for _, law := range twin.Laws() {
		t.Run(law.Name, func(t *testing.T) {
			said := slices.DeleteFunc(slices.Clone(all), func(s *scenarios.Scenario) bool { return law.Of(s.WithoutLooks()) == nil })
			tried := 0
			for _, s := range race.Some(sample.Some(t, said, 8), 2) {
				if originals[s] == nil {
					originals[s], err = playOriginal(t.Context(), s, Options{})
					require.NoError(t, err, s.Pos.File)
				}
				report, err := originals[s].hold(t.Context(), law)
				require.NoError(t, err, s.Pos.File)
				tried += report.Figures.Cases / 2
				for _, f := range report.Violations {
					assert.Fail(t, f.Clause.Name, "%s: step %d %s %+v\nwant %s\ngot  %s", s.Pos.File, f.Step, f.Node, f.attempt, f.Want, f.Got)
				}
			}
			assert.Positive(t, tried)
			t.Logf("%d scenarios", tried)
		})
	}
}

var rejects = regexp.MustCompile(`(?m)^.* -j REJECT.*\n`)

// hasty is a proxier that takes no slice whose service it does not know yet.
type hasty struct {
	node.Proxy
	known map[string]bool
}

func (h *hasty) OnServiceAdd(s *corev1.Service) {
	h.known[s.Name] = true
	h.Proxy.OnServiceAdd(s)
}

func (h *hasty) OnEndpointSliceAdd(s *discoveryv1.EndpointSlice) {
	if h.known[s.Labels[discoveryv1.LabelServiceName]] {
		h.Proxy.OnEndpointSliceAdd(s)
	}
}

// slow is a proxier that takes one slice in each sync, and forgets the others.
type slow struct {
	node.Proxy
	taken bool
}

func (s *slow) OnEndpointSliceUpdate(old, now *discoveryv1.EndpointSlice) {
	if !s.taken {
		s.Proxy.OnEndpointSliceUpdate(old, now)
	}
	s.taken = true
}

func (s *slow) Sync() error {
	s.taken = false
	return s.Proxy.Sync()
}

// clumsy is a proxier that takes a slice only if a service came with it.
type clumsy struct {
	node.Proxy
	service bool
}

func (c *clumsy) OnServiceAdd(s *corev1.Service) {
	c.service = true
	c.Proxy.OnServiceAdd(s)
}

func (c *clumsy) OnEndpointSliceAdd(s *discoveryv1.EndpointSlice) {
	if c.service {
		c.Proxy.OnEndpointSliceAdd(s)
	}
}

func (c *clumsy) Sync() error {
	c.service = false
	return c.Proxy.Sync()
}

func wrapping(wrap func(node.Proxy) node.Proxy) node.Proxier {
	return func(p node.Process) (node.Proxy, []string, error) {
		proxy, warnings, err := node.Chainwalk(p)
		return wrap(proxy), warnings, err
	}
}

// rejectsNothing leaves REJECT rules out of inputs that are of the kind.
func rejectsNothing(kind func(input string) bool) node.Proxier {
	return editing(func(input string) string {
		if !kind(input) {
			return input
		}
		return rejects.ReplaceAllString(input, "")
	})
}

// Each law is broken by a proxier for which it is not so, and says so with a file.
func TestLawsAreBroken(t *testing.T) {
	const newService = `
- apply:
  - {apiVersion: v1, kind: Service, metadata: {name: new}, spec: {clusterIP: 172.30.0.99, ports: [{port: 80}]}}
  - {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: new-1, labels: {kubernetes.io/service-name: new}}, addressType: IPv4,
     ports: [{port: 80}], endpoints: [{addresses: [10.244.1.99], nodeName: node1}]}
`
	starts := 0
	for _, c := range []struct {
		law     string
		proxier node.Proxier
		steps   string
	}{
		{"batched", wrapping(func(p node.Proxy) node.Proxy { return &slow{Proxy: p} }), web(onNode1) + dns("")},
		{"apart", wrapping(func(p node.Proxy) node.Proxy { return &clumsy{Proxy: p} }), newService},
		{"reordered", wrapping(func(p node.Proxy) node.Proxy { return &hasty{p, map[string]bool{}} }), newService},
		{"restarts", func(p node.Process) (node.Proxy, []string, error) {
			if starts++; starts > 4 { // those of the case itself and those that the twin starts with
				return rejectsNothing(func(string) bool { return true })(p)
			}
			return node.Chainwalk(p)
		}, web("")},
		{"full-syncs", rejectsNothing(func(in string) bool { return !strings.Contains(in, ":KUBE-FORWARD ") }), web("")},
		{"tools", func(p node.Process) (node.Proxy, []string, error) {
			version, err := p.Kernel.Exec.Command("iptables", "--version").Output()
			if err != nil {
				return nil, nil, err
			}
			return rejectsNothing(func(string) bool { return strings.Contains(string(version), "nf_tables") })(p)
		}, web("")},
		{"mirror", rejectsNothing(func(in string) bool { return strings.Contains(in, "fd44:") }), web("")},
		{"names", rejectsNothing(func(in string) bool { return strings.Contains(in, "thing-") }), web("")},
		{"names", func(p node.Process) (node.Proxy, []string, error) {
			return rejectsNothing(func(string) bool { return strings.HasPrefix(p.Node, "machine-") })(p)
		}, web("")},
	} {
		t.Run(c.law, func(t *testing.T) {
			s := read(t, cluster+c.steps)
			law := lawNamed(c.law)
			sound, err := Hold(t.Context(), law, s, Options{})
			require.NoError(t, err)
			require.Equal(t, 2, sound.Figures.Cases)
			require.Empty(t, sound.Violations)

			starts = 0
			report, err := Hold(t.Context(), law, s, Options{Proxier: c.proxier})
			require.NoError(t, err)
			require.Len(t, report.Violations, 1)
			assert.Equal(t, law.Clause, report.Violations[0].Clause)
			if c.law != "tools" && c.law != "restarts" && c.law != "full-syncs" { // the file is about one of two runs
				checkWitness(t, &report.Violations[0], s, c.proxier)
			}
		})
	}
}

// TestOtherFamilyHasNoMirror has a slice of IPv4 hold an address of IPv6, which counts for nothing there and would count in the mirror.
func TestOtherFamilyHasNoMirror(t *testing.T) {
	assert.NotNil(t, lawNamed("mirror").Of(read(t, cluster+web(onNode1))))
	assert.Nil(t, lawNamed("mirror").Of(read(t, cluster+web("{addresses: ['2001:db8::2'], nodeName: node1}"))))
}

func lawNamed(name string) *twin.Law {
	for _, law := range twin.Laws() {
		if law.Name == name {
			return law
		}
	}
	return nil
}

// Which of two slices that contradict each other about an endpoint holds is open, and a proxier may choose by their names.
func TestNamesMayDecideAboutContradictions(t *testing.T) {
	const endpoints = `
  - apiVersion: discovery.k8s.io/v1
    kind: EndpointSlice
    metadata: {name: web-%d, labels: {kubernetes.io/service-name: web}}
    addressType: IPv4
    ports: [{port: 8080}]
    endpoints: [{addresses: [10.244.1.2], conditions: {ready: %t}}]`
	s := read(t, cluster+"- apply:"+fmt.Sprintf(endpoints, 1, true)+fmt.Sprintf(endpoints, 2, false))
	report, err := Hold(t.Context(), lawNamed("names"), s, Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}
