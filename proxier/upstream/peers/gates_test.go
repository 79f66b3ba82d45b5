package peers

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	metricsfeatures "k8s.io/component-base/metrics/features"
	_ "k8s.io/kubernetes/pkg/features" // Kubernetes' own gates
)

// TestFeatureGatesAreKubernetes holds that the known gates of the version are kube-proxy's, with their defaults.
// UPDATE_GATES=1 writes them anew.
func TestFeatureGatesAreKubernetes(t *testing.T) {
	file := fmt.Sprintf("../../gates/known-1.%d.txt", Minor)
	all := utilfeature.DefaultMutableFeatureGate.DeepCopy()
	require.NoError(t, metricsfeatures.AddFeatureGates(all))
	require.NoError(t, logsapi.AddFeatureGates(all))
	var lines []string
	for name, spec := range all.GetAll() {
		if name == "AllAlpha" || name == "AllBeta" {
			continue
		}
		word, locked, stage := "off", "free", string(spec.PreRelease)
		if spec.Default {
			word = "on"
		}
		if spec.LockToDefault {
			locked = "locked"
		}
		if spec.PreRelease == featuregate.GA {
			stage = "GA"
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %s\n", name, word, locked, stage))
	}
	slices.Sort(lines)
	want := strings.Join(lines, "")
	if os.Getenv("UPDATE_GATES") != "" {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, want, string(got))
}
