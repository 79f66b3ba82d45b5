package live

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets/explained"
)

// TestTheWayBackSaysWhetherTheNodeIsAsItWas by all of its packets, not by one of each class alone: no class tells these nodes apart.
func TestTheWayBackSaysWhetherTheNodeIsAsItWas(t *testing.T) {
	closed := func(t *testing.T) *Cluster { // a node of mode nftables that has never run mode iptables
		c := after(t, small(t, "nft", migratedNode), manifest.ModeNFTables)
		taken := c.Snapshots[0]
		require.Equal(t, "1", taken.Sysctls["net.ipv4.conf.all.route_localnet"])
		taken.Sysctls["net.ipv4.conf.all.route_localnet"] = "0"
		for i := range taken.IPTables {
			lines := strings.SplitAfter(taken.IPTables[i].Save, "\n")
			taken.IPTables[i].Save = strings.Join(slices.DeleteFunc(lines, func(line string) bool {
				return strings.Contains(line, provenance.KubeletFirewall)
			}), "")
		}
		return c
	}
	for name, row := range map[string]struct {
		cluster *Cluster
		says    string // as a regular expression
	}{
		"the kubelet's guard stood before kube-proxy's rules": {
			small(t, "legacy", migratedNode),
			`^the node is not as it was: 3 kinds of packets on demo-worker fare otherwise than before, such as ` +
				`tcp [0-9.:]+ > 127\.0\.0\.1:30946 in eth0 \(before: drop; now: accept local\)$`,
		},
		"the guard stood behind them": {small(t, "nft", migratedNode), "^the node is as it was$"},
		"it has never run the other mode": {
			closed(t), `^the node is not as it was: [0-9]+ kinds of packets .* such as tcp 127\.0\.0\.1:40000 > `,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := migrated(t, row.cluster, Target{AllPackets: true})
			back := &m.Moments[3]
			assert.Zero(t, back.Otherwise)
			assert.Regexp(t, row.says, back.Says)
			require.Len(t, back.AllPackets, 1)
			assert.Equal(t, strings.Contains(row.says, "not as it was"), back.AllPackets[0].Kinds > 0)
			assert.Len(t, back.AllPackets[0].Findings, back.AllPackets[0].Kinds)
			for i := range back.AllPackets[0].Findings {
				assert.Contains(t, back.AllPackets[0].Findings[i].Packet, " 127.", "packets of loopback addresses alone")
			}
			state := m.State()
			assert.Equal(t, len(m.AllPackets[0].Findings) > 0, state == MigrationFinds, "the way back is no finding of the change")
			all := back.AllPackets
			back.AllPackets = nil
			assert.Equal(t, state, m.State())
			back.AllPackets = all
			var text strings.Builder
			require.NoError(t, m.WriteText(&text, true))
			assert.Equal(t, back.AllPackets[0].Kinds > 0, strings.Contains(text.String(), "after the way back, all packets of demo-worker: "))
		})
	}
}

// TestTheWayBackSaysNoMoreThanItKnows: if not all packets were compared, the moment says which were. If some fare otherwise, it names them.
func TestTheWayBackSaysNoMoreThanItKnows(t *testing.T) {
	const walked = "the ways that were walked are as they were; "
	c := small(t, "legacy", migratedNode)
	m := walkedClasses(t, c, nil)
	m.target.AllPackets = false
	require.NoError(t, m.momentOf(t.Context(), "as after the change", m.after.lab, m.after, ""))
	m.sayBack()
	last, synced := m.out.Moments[len(m.out.Moments)-1], m.out.Moments[2]
	assert.Positive(t, last.Otherwise)
	assert.Equal(t, []int{last.Ways, last.Otherwise, last.Unserved}, []int{synced.Ways, synced.Otherwise, synced.Unserved},
		"the ways after the change are not walked again")
	assert.Regexp(t, `^the node is not as it was: [0-9]+ ways fare otherwise than before, such as TCP .* from demo-worker `+
		`\(before: delivered by .*; now: refused by .*\); all packets were not compared$`, last.Says)

	for name, row := range map[string]struct {
		moment Moment
		nodes  int
		opaque int
		says   string
	}{
		"a connection is broken": {
			moment: Moment{Established: 2, Broken: 1},
			says:   "the node is not as it was: 1 packet of established connections fares otherwise than before",
		},
		"two nodes": {
			moment: Moment{AllPackets: []explained.Answer{{Node: "a"}, {Node: "b"}}}, nodes: 2, says: "all nodes are as they were",
		},
		"one of two nodes": {
			moment: Moment{Otherwise: 2, AllPackets: []explained.Answer{
				{Node: "a"}, {Node: "b", Kinds: 1, Findings: []explained.Finding{{Packet: "p", Before: "x", After: "y"}}},
			}}, nodes: 2,
			says: "not all nodes are as they were: 2 ways and 1 kind of packets on b fare otherwise than before, such as p (before: x; now: y)",
		},
		"a node was left out": {
			moment: Moment{AllPackets: []explained.Answer{{Node: "a"}, *explained.NotCompared("b", "it is large")}}, nodes: 2,
			says: walked + "all packets of b were not compared",
		},
		"a part is not known": {
			moment: Moment{AllPackets: []explained.Answer{{Node: "a", Unknown: []string{"a match", "another"}}}},
			says:   walked + "of 2 kinds of packets it cannot be said: a match",
		},
		"a rule is not walked": {
			moment: Moment{AllPackets: []explained.Answer{{Node: "a"}}}, opaque: 3, says: walked + "3 ways could not be walked",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMigration(c, Target{AllPackets: true})
			for i := range max(row.nodes, 1) {
				m.configs[string(rune('a'+i))] = nil
			}
			m.opaque, m.out.Moments = row.opaque, []Moment{row.moment}
			m.sayBack()
			assert.Equal(t, row.says, m.out.Moments[0].Says)
		})
	}
	few := migrated(t, c, Target{AllPackets: true, MostDevices: 3})
	assert.Equal(t, walked+"all packets of demo-worker were not compared", few.Moments[3].Says)
	none := migrated(t, c, Target{})
	assert.Equal(t, walked+"all packets were not compared", none.Moments[3].Says)
}
