package gen

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// anyObject reports whether an object of a list is one of a type that has a property.
func anyObject[T any](list []manifest.Object, has func(T) bool) bool {
	return slices.ContainsFunc(list, func(o manifest.Object) bool {
		typed, ok := o.Object.(T)
		return ok && has(typed)
	})
}

func everApplied(s *scenarios.Scenario) []manifest.Object {
	out := slices.Clone(s.Objects)
	for i := range s.Steps {
		out = append(out, s.Steps[i].Apply...)
	}
	return out
}

// failures are things that a scenario may fail by, and the file that is left of it.
func failures() []struct {
	name  string
	fails func(*scenarios.Scenario) bool
	want  string
} {
	return []struct {
		name  string
		fails func(*scenarios.Scenario) bool
		want  string
	}{
		{
			"a service with the policy Local",
			func(s *scenarios.Scenario) bool {
				return anyObject(everApplied(s), func(s *corev1.Service) bool {
					return s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal && s.Spec.Type == corev1.ServiceTypeNodePort
				})
			},
			`name: generated
topology: {nodes: 1}
objects:
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec:
    type: NodePort
    clusterIP: 172.30.0.2
    externalTrafficPolicy: Local
    ports: [{port: 80, nodePort: 30001}]
steps:
- sync: true
`,
		},
		{
			"an endpoint that goes",
			func(s *scenarios.Scenario) bool {
				for i := range s.Steps {
					if anyObject(s.Steps[i].Apply, func(after *discoveryv1.EndpointSlice) bool {
						return anyObject(s.Objects, func(before *discoveryv1.EndpointSlice) bool {
							return sameSlice(before, after) && len(after.Endpoints) == 0 && len(before.Endpoints) > 0
						})
					}) {
						return true
					}
				}
				return false
			},
			`name: generated
topology: {nodes: 1}
objects:
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-v4-1}
  addressType: IPv4
  endpoints: [{addresses: [10.244.1.10]}]
steps:
- apply:
  - apiVersion: discovery.k8s.io/v1
    kind: EndpointSlice
    metadata: {name: web-v4-1}
    addressType: IPv4
`,
		},
	}
}

func TestShrinkFindsTheSmallestFile(t *testing.T) {
	for _, f := range failures() {
		t.Run(f.name, func(t *testing.T) {
			found, want := 0, 8/sample.Every(4)
			for seed := uint64(0); found < want && seed < 1000; seed++ {
				s := reread(t, Example(Options{Without: Of(IPv6Only, DualStack, HostEndpoints, FarEndpoints, OddSlices, OddSpelling)}, seed))
				if !f.fails(s) {
					continue
				}
				found++
				assert.Equal(t, f.want, string(written(t, Shrink(s, f.fails, 5000))), "seed %d", seed)
			}
			assert.Equal(t, want, found)
		})
	}
}

// reread is the scenario as a file of it is read.
func reread(t *testing.T, s *scenarios.Scenario) *scenarios.Scenario {
	out, err := scenarios.Read("generated.yaml", bytes.NewReader(written(t, s)))
	require.NoError(t, err)
	return out
}

func TestShrinkAsksOnlyOfScenariosThatAnAPIServerHandsOut(t *testing.T) {
	for seed := uint64(0); seed < 8; seed += uint64(max(sample.Every(4), race.Every(4))) {
		s := reread(t, Example(Options{}, seed))
		asked := 0
		Shrink(s, func(s *scenarios.Scenario) bool {
			asked++
			assert.True(t, handedOut(s))
			return asked%3 == 0
		}, 300)
		assert.LessOrEqual(t, asked, 300)
	}
}

func TestGeneratedObjectsAreHandedOut(t *testing.T) {
	for seed := range uint64(500) {
		s := Example(Options{}, seed)
		if !handedOut(s) { // a text for each would take longer than all the rest
			require.Fail(t, "no API server hands it out", "seed %d\n%s", seed, written(t, s))
		}
	}
}

func TestSpellingsBecomePlain(t *testing.T) {
	for _, row := range [][2]string{
		{"10.244.001.010", "10.244.1.10"}, {"::ffff:203.0.113.7", "203.0.113.7"}, {"::ffff:203.0.113.7/128", "203.0.113.7/32"},
		{" 203.0.113.0/25 ", "203.0.113.0/25"}, {"FD00::0A", "fd00::a"}, {"fd00::/64", "fd00::/64"}, {"web", "web"}, {"80", "80"},
		{"1.2.3.4", "1.2.3.4"}, {"", ""},
	} {
		assert.Equal(t, row[1], plainSpelling(row[0]), row[0])
	}
}
