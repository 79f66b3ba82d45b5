package proxier_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/proxier/gates"
)

func TestGatesAreOnOrOff(t *testing.T) {
	for about, row := range map[string]struct {
		given          map[string]bool
		on             bool // AllowServiceExternalIPs
		withoutMeaning []string
		wrong          string
	}{
		"nothing is said": {nil, true, nil, ""},
		"turned off":      {map[string]bool{"AllowServiceExternalIPs": false}, false, nil, ""},
		"turned on":       {map[string]bool{"AllowServiceExternalIPs": true}, true, nil, ""},
		"without meaning here": {map[string]bool{"APIServerTracing": true, "WinOverlay": true, "AllowServiceExternalIPs": true}, true,
			[]string{"APIServerTracing", "WinOverlay"}, ""},
		"all of a stage": {map[string]bool{"AllAlpha": true, "AllBeta": false}, true, []string{"AllAlpha", "AllBeta"}, ""},
		"unknown": {map[string]bool{"AllowServiceExternalIP": false}, false, nil,
			"unrecognized feature gate: AllowServiceExternalIP"},
		"locked to its default":    {map[string]bool{"PreferSameTrafficDistribution": false}, false, nil, "PreferSameTrafficDistribution"},
		"known since v1.37":        {map[string]bool{"KubeProxyIPVS": false}, true, []string{"KubeProxyIPVS"}, ""},
		"known until v1.36":        {map[string]bool{"SidecarContainers": true}, true, []string{"SidecarContainers"}, ""},
		"locked since v1.37 only":  {map[string]bool{"DRAExtendedResource": false}, true, []string{"DRAExtendedResource"}, ""},
		"set to what it is locked": {map[string]bool{"PreferSameTrafficDistribution": true}, true, []string{"PreferSameTrafficDistribution"}, ""},
	} {
		g, err := gates.New(row.given)
		if row.wrong != "" {
			require.ErrorContains(t, err, row.wrong, about)
			continue
		}
		require.NoError(t, err, about)
		assert.Equal(t, row.on, g.Enabled(gates.AllowServiceExternalIPs), about)
		assert.Equal(t, row.withoutMeaning, append([]string(nil), g.WithoutMeaning()...), about)
	}
}
