package live

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
)

// One mistake that was made in both families is one thing that is wrong, with a command for each. Two nodes with different mistakes are
// two.
func TestAFaultOfBothFamiliesIsOneThing(t *testing.T) {
	set := func(prefix string) func(*testing.T, *Cluster) {
		return func(_ *testing.T, c *Cluster) {
			for _, taken := range c.Snapshots {
				for key := range taken.Sysctls {
					if strings.HasPrefix(key, prefix) && strings.HasSuffix(key, "forward") || strings.HasSuffix(key, ".forwarding") {
						taken.Sysctls[key] = "0"
					}
				}
			}
		}
	}
	change := func(family netfilter.Family, old, now string, nodes ...int) func(*testing.T, *Cluster) {
		return func(t *testing.T, c *Cluster) {
			for _, i := range nodes {
				c.Snapshots[i].IPTables = slices.Clone(c.Snapshots[i].IPTables)
				for k := range c.Snapshots[i].IPTables {
					if r := &c.Snapshots[i].IPTables[k]; r.Family == family {
						head, body, found := strings.Cut(r.Save, "*filter\n")
						require.True(t, found)
						require.Contains(t, body, old)
						r.Save = head + "*filter\n" + strings.Replace(body, old, now, 1)
					}
				}
			}
		}
	}
	policy := func(family netfilter.Family, nodes ...int) func(*testing.T, *Cluster) {
		return change(family, ":FORWARD ACCEPT", ":FORWARD DROP", nodes...)
	}
	rule := func(family netfilter.Family, text string) func(*testing.T, *Cluster) {
		return change(family, "COMMIT", "-A FORWARD "+text+"\nCOMMIT", 0, 1, 2)
	}
	const drop = "-p tcp -m tcp --dport 8080 -j REJECT --reject-with "
	for _, tc := range []struct {
		name           string
		break4, break6 func(*testing.T, *Cluster)
		code           cause.Code
		mend           []string
		things         int
	}{
		{"a policy", policy(4, 0, 1, 2), policy(6, 0, 1, 2), cause.Policy,
			[]string{"iptables -t filter -P FORWARD ACCEPT", "ip6tables -t filter -P FORWARD ACCEPT"}, 1},
		{"forwarding", set("net.ipv4."), set("net.ipv6."), cause.ForwardingOff,
			[]string{"sysctl -w net.ipv4.ip_forward=1", "sysctl -w net.ipv6.conf.all.forwarding=1"}, 1},
		{"a rule", rule(4, drop+"icmp-port-unreachable"), rule(6, drop+"icmp6-port-unreachable"), cause.ForeignDrop,
			[]string{"iptables -t filter -D FORWARD -p tcp -m tcp --dport 8080 -j REJECT --reject-with icmp-port-unreachable",
				"ip6tables -t filter -D FORWARD -p tcp -m tcp --dport 8080 -j REJECT --reject-with icmp6-port-unreachable"}, 1},
		{"on other nodes", policy(4, 0, 1, 2), policy(6, 1), cause.Policy, []string{"iptables -t filter -P FORWARD ACCEPT"}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			of := small
			if tc.code == cause.ForeignDrop {
				of = recorded // which has services of both families
			}
			cluster := of(t, "legacy", dumpNodes...)
			cluster.AllPackets = true
			tc.break4(t, cluster)
			tc.break6(t, cluster)
			report := examined(t, cluster)
			text := screenOf(t, report)
			require.Len(t, report.Findings, tc.things, text)
			f := &report.Findings[0]
			assert.Equal(t, tc.code, f.Code)
			for _, command := range tc.mend {
				assert.True(t, slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool {
					return strings.HasSuffix(line, " "+command)
				}), "%s\n%s", command, text)
			}
			assert.Equal(t, tc.things == 1, strings.Contains(text, " (IPv4 and IPv6)"), text)
			assert.Equal(t, tc.things == 1, f.Also != cause.Cause{}, text)
		})
	}
}
