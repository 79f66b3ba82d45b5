// Package gates has the feature gates that a KubeProxyConfiguration may set: all that kube-proxy v1.36.3 or v1.37.2 takes, which are those
// of every component of Kubernetes. Only AllowServiceExternalIPs changes what an iptables proxier of these versions does. The others have
// no effect here; the package accepts them, so that the configuration of a cluster of either version can be used as it is.
package gates

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/component-base/featuregate"
)

// AllowServiceExternalIPs serves the externalIPs of services. It is on unless it is turned off (https://kep.k8s.io/5707).
const AllowServiceExternalIPs featuregate.Feature = "AllowServiceExternalIPs"

// meaningful are the gates that change something here.
var meaningful = []featuregate.Feature{AllowServiceExternalIPs}

// known136 and known137 have a line for each gate of a version of Kubernetes: its name, its default, whether that is locked, and its
// stage. A test of proxier/upstream holds each against the version.
var (
	//go:embed known-1.36.txt
	known136 string
	//go:embed known-1.37.txt
	known137 string
)

// Gates are feature gates as a configuration sets them.
type Gates struct {
	gate  featuregate.FeatureGate
	given []string
}

// New sets gates to what a configuration says, and those of a stage by AllAlpha and AllBeta. An error names a gate that is not known, or
// one that is locked to its default.
func New(given map[string]bool) (*Gates, error) {
	gate, err := unset()
	if err != nil {
		return nil, err
	}
	if len(given) == 0 {
		return &Gates{gate: gate}, nil
	}
	gate = gate.DeepCopy()
	if err := gate.SetFromMap(given); err != nil {
		return nil, err
	}
	return &Gates{gate: gate, given: slices.Sorted(maps.Keys(given))}, nil
}

// Enabled says whether a gate is on.
func (g *Gates) Enabled(f featuregate.Feature) bool { return g.gate.Enabled(f) }

// WithoutMeaning are the gates that the configuration sets and that change nothing here, in order.
func (g *Gates) WithoutMeaning() []string {
	return slices.DeleteFunc(slices.Clone(g.given), func(name string) bool { return slices.Contains(meaningful, featuregate.Feature(name)) })
}

// unset has all gates that are known, and none of them set. Nobody changes it: what is set, is set in a copy. Gates read and add
// themselves in half a millisecond, which a program that starts thousands of proxiers would notice.
var unset = sync.OnceValues(func() (featuregate.MutableVersionedFeatureGate, error) {
	all, err := defaults()
	if err != nil {
		return nil, err
	}
	gate := featuregate.NewFeatureGate()
	if err := gate.Add(all); err != nil {
		return nil, fmt.Errorf("feature gates: %w", err)
	}
	return gate, nil
})

// defaults are all gates that are known, as they are if nobody sets them: as the last version has them that knows them. A gate is locked
// only if it is in every version that knows it, and to the same.
func defaults() (map[featuregate.Feature]featuregate.FeatureSpec, error) {
	out, err := parse(known136)
	if err != nil {
		return nil, err
	}
	newer, err := parse(known137)
	if err != nil {
		return nil, err
	}
	for name, spec := range newer {
		if older, ok := out[name]; ok {
			spec.LockToDefault = spec.LockToDefault && older.LockToDefault && spec.Default == older.Default
		}
		out[name] = spec
	}
	return out, nil
}

// parse reads the gates of a version.
func parse(known string) (map[featuregate.Feature]featuregate.FeatureSpec, error) {
	out := map[featuregate.Feature]featuregate.FeatureSpec{}
	for line := range strings.Lines(known) {
		words := strings.Fields(line)
		if len(words) != 4 {
			return nil, fmt.Errorf("feature gates: %q: want name, on or off, locked or free, and stage", line)
		}
		spec := featuregate.FeatureSpec{Default: words[1] == "on", LockToDefault: words[2] == "locked", PreRelease: settled}
		switch words[3] {
		case "ALPHA":
			spec.PreRelease = featuregate.Alpha
		case "BETA":
			spec.PreRelease = featuregate.Beta
		}
		out[featuregate.Feature(words[0])] = spec
	}
	return out, nil
}

// settled is the stage of what AllAlpha and AllBeta do not speak of. Under its own the library logs each time that a gate is set.
const settled = "settled"
