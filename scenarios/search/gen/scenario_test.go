package gen

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"pgregory.net/rapid"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

func written(t require.TestingT, s *scenarios.Scenario) []byte {
	var b bytes.Buffer
	require.NoError(t, scenarios.Write(&b, s))
	return b.Bytes()
}

func drawn(t *rapid.T, has ...Feature) mixture {
	return mixture{draw: &draw{bit: coin(t)}, has: Of(has...)}
}

func coin(t *rapid.T) func() bool {
	bit := rapid.Bool()
	return func() bool { return bit.Draw(t, "") }
}

func TestScenariosAreInOrder(t *testing.T) {
	sample.Checks(t, 25)
	rapid.Check(t, func(t *rapid.T) {
		s := Draw(Options{}, coin(t))
		text := written(t, s)
		_, err := scenarios.Read("generated.yaml", bytes.NewReader(text))
		require.NoError(t, err, "%s", text)
	})
}

// TestRareThingsAreMadeWhenAskedFor has flows to outsiders and addresses of the other family in some scenarios, which are in order.
func TestRareThingsAreMadeWhenAskedFor(t *testing.T) {
	flows, foreign, every := 0, 0, max(sample.Every(4), race.Every(2))
	for seed := range uint64(300) {
		if !sample.Takes(t, int(seed), every) {
			continue
		}
		s := Example(Options{OtherFamily: true, FarFlows: true}, seed)
		text := string(written(t, s))
		_, err := scenarios.Read("generated.yaml", bytes.NewReader([]byte(text)))
		require.NoError(t, err, "%s", text)
		if strings.Contains(text, "of: far") {
			flows++
		}
		for _, o := range s.Objects {
			slice, ok := o.Object.(*discoveryv1.EndpointSlice)
			if ok && slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool {
				return strings.Contains(e.Addresses[0], ":") != (slice.AddressType == discoveryv1.AddressTypeIPv6)
			}) {
				foreign++
			}
		}
	}
	require.GreaterOrEqual(t, flows, max(1, 6/every))
	require.GreaterOrEqual(t, foreign, max(1, 3/every))
}

// TestAddressesOfHeadlessServicesAreNotUsedAgain has nothing allocate None to another service.
func TestAddressesOfHeadlessServicesAreNotUsedAgain(t *testing.T) {
	headless := &corev1.Service{Spec: corev1.ServiceSpec{ClusterIPs: []string{corev1.ClusterIPNone},
		IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}}}
	rapid.Check(t, func(t *rapid.T) {
		n := &numbers{mixture: drawn(t), cluster: &cluster{deleted: []*corev1.Service{headless}}}
		require.NotEqual(t, corev1.ClusterIPNone, n.clusterIP(corev1.IPv4Protocol))
	})
}

// TestAServiceWithoutPortsStaysOne, as those of names outside are.
func TestAServiceWithoutPortsStaysOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &serviceMaker{mixture: drawn(t, SeveralPorts), cluster: &cluster{}}
		s := &corev1.Service{}
		m.editPorts(s)
		require.Empty(t, s.Spec.Ports)
	})
}

// TestRulesOfOthersAreKnown has the oracle told exactly what rules of others drop, in every scenario.
func TestRulesOfOthersAreKnown(t *testing.T) {
	stops := 0
	for seed := range uint64(300) {
		c, err := scenarios.Resolve(Example(Options{}, seed))
		require.NoError(t, err)
		for _, n := range plan.Of(c).Oracle(nil).Nodes {
			require.False(t, n.Filters, "seed %d, %s", seed, n.Name)
			if n.Filter[0].Stops() || n.Filter[1].Stops() {
				stops++
			}
		}
	}
	require.Greater(t, stops, 50)
}

func TestSeedsMakeTheSameScenarios(t *testing.T) {
	for seed := uint64(0); seed < 50; seed += uint64(max(sample.Every(4), race.Every(5))) {
		first, second := written(t, Example(Options{}, seed)), written(t, Example(Options{}, seed))
		require.Equal(t, string(first), string(second))
		require.NotEqual(t, string(first), string(written(t, Example(Options{}, seed+1))))
	}
}

func TestSmallScenariosAreInOrderAndAllDifferent(t *testing.T) {
	seen := map[string]bool{}
	different := 0
	for n := uint64(0); n < smallCount(); n += 31 {
		s := Small(n)
		require.True(t, handedOut(s))
		require.LessOrEqual(t, len(s.Steps), smallEvents+1)
		if n < 3000 {
			text := string(written(t, s))
			_, err := scenarios.Read("small.yaml", bytes.NewReader([]byte(text)))
			require.NoError(t, err, "%s", text)
			if !seen[text] {
				different++
			}
			seen[text] = true
		}
	}
	require.Greater(t, different, 60, "what cannot happen does nothing, so that some are the same")
}

// TestWhatOnlyModeNFTablesMeets makes each kind of it, in order, and leaves all other draws as they are.
func TestWhatOnlyModeNFTablesMeets(t *testing.T) {
	found := map[string]int{}
	for seed := uint64(0); seed < 200; seed++ {
		s := Example(Options{NFTables: true, NFTablesExtras: true}, seed)
		text := string(written(t, s))
		if sample.Takes(t, int(seed), 4) {
			_, err := scenarios.Read("generated.yaml", strings.NewReader(text))
			require.NoError(t, err, "%s", text)
		}
		for _, word := range []string{
			"kind: ServiceCIDR", "servicecidr ", "nft delete table", "nft flush chain", "nft flush map", "table inet other", "policy drop",
			"chain service-endpoints-check", "192.168.0.0/24", "mark-for-masquerade", "localhost-nodeport-reject",
			"filter-input-pre-dnat", "mode: iptables", "name: rival-2", "timeoutSeconds: 40", "192.168.0.0/16",
		} {
			if strings.Contains(text, word) {
				found[word]++
			}
		}
		for i, step := range s.Steps {
			if step.Restart != nil && i > 0 && len(s.Steps[i-1].Apply)+len(s.Steps[i-1].Delete) > 0 && s.Steps[i-1].Sync != nil {
				found["a start with a change that is not written"]++
			}
			if step.Fault != nil && step.Fault.RestoreFails > 0 && i > 0 && s.Steps[i-1].Delete != nil && s.Steps[i+1].Advance != nil {
				found["a deletion that fails"]++
			}
		}
		plain := Example(Options{NFTables: true}, seed)
		require.LessOrEqual(t, len(plain.Objects), len(s.Objects))
		for i := range plain.Objects {
			require.Equal(t, plain.Objects[i].Object, s.Objects[i].Object)
		}
	}
	require.Len(t, found, 18, "%v", found)
}
