package live

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TestOnlyNodesThatASyncChangesAreAskedAgain holds that the report is the same as if every errand were made on all nodes after a sync.
func TestOnlyNodesThatASyncChangesAreAskedAgain(t *testing.T) {
	for name, damage := range map[string]func(*testing.T, *Cluster){
		"a policy": policy("filter", "FORWARD"),
		"forwarding": func(_ *testing.T, c *Cluster) {
			for key := range c.Snapshots[1].Sysctls {
				if strings.HasSuffix(key, "forwarding") {
					c.Snapshots[1].Sysctls[key] = "0"
				}
			}
		},
		"a rule of a service on one node": func(t *testing.T, c *Cluster) {
			edit(t, c.Snapshots[1], netfilter.IPv4, "-A KUBE-SERVICES -d 10.96.125.22/32", "-A KUBE-SERVICES -d 10.96.125.99/32")
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := recorded(t, "legacy", dumpNodes...)
			damage(t, cluster)
			want := screenOf(t, examined(t, cluster))
			require.NotContains(t, want, "nothing is wrong")

			e, err := cluster.exam()
			require.NoError(t, err)
			changed := len(e.hostsHealed)
			for _, object := range cluster.nodes() {
				if e.hostsHealed[object.Name] == nil {
					host, err := newHost(e.nodes[object.Name], cluster.hostOptions)
					require.NoError(t, err)
					require.NoError(t, cluster.heal(host, object, e.topology.Configs[object.Name]))
					e.hostsHealed[object.Name] = host
				}
			}
			require.Less(t, changed, len(e.hostsHealed), "a node stays as it is")
			_, err = e.look(t.Context(), e.split(e.errands()))
			require.NoError(t, err)
			assert.Equal(t, screenOf(t, e.report), want)
		})
	}
}
