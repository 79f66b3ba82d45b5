package packetsim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// entryRules have a chain in every table that PREROUTING and POSTROUTING have, and track connections.
const entryRules = "*raw\n-A PREROUTING -j MARK --or-mark 1\nCOMMIT\n" +
	"*mangle\n-A PREROUTING -j MARK --or-mark 2\n-A POSTROUTING -j MARK --or-mark 4\nCOMMIT\n" +
	"*nat\n-A PREROUTING -p tcp -j DNAT --to-destination 10.244.0.13\n-A POSTROUTING -j MASQUERADE\nCOMMIT\n"

// TestEntriesRunByPriority registers entries as chains of nftables may be, at priorities between those of the kernel's own, and looks at
// what the packet is when they are run.
func TestEntriesRunByPriority(t *testing.T) {
	in, err := inet.ParseInput("tcp 10.244.0.11:40000 > 10.96.0.1:80 in veth1")
	require.NoError(t, err)
	type sight struct {
		mark             uint32
		src, dst         string
		tracked, decided bool // it has a connection, and the destination of that is decided
	}
	raw := sight{mark: 0, src: "10.244.0.11", dst: "10.96.0.1"}
	tracked := sight{mark: 1, tracked: true, src: "10.244.0.11", dst: "10.96.0.1"}
	marked, translated := tracked, tracked
	marked.mark = 3
	translated.mark, translated.decided, translated.dst = 3, true, "10.244.0.13"
	sent := translated
	sent.mark = 7
	masqueraded := sent
	masqueraded.src = "192.168.0.3" // of the device that leads to 10.244.0.13
	for _, row := range []struct {
		name     string
		at       hook
		priority netfilter.Priority
		want     sight
	}{
		{"before raw", preRouting, netfilter.PriorityRaw - 1, raw},
		{"between raw and conntrack", preRouting, netfilter.PriorityConntrack - 1, sight{mark: 1, src: "10.244.0.11", dst: "10.96.0.1"}},
		{"between conntrack and mangle", preRouting, netfilter.PriorityMangle - 7, tracked},
		{"between mangle and nat", preRouting, netfilter.PriorityMangle + 5, marked},
		{"behind nat", preRouting, netfilter.PriorityNATDst + 1, translated},
		{"at the priority of nat, registered later", preRouting, netfilter.PriorityNATDst, marked},
		{"before the source is translated", postRouting, netfilter.PriorityNATSrc - 1, sent},
		{"behind that", postRouting, netfilter.PriorityNATSrc + 1, masqueraded},
		{"before the connection is confirmed", postRouting, netfilter.PriorityConfirm - 1, masqueraded},
	} {
		t.Run(row.name, func(t *testing.T) {
			h, _ := testNode{rules4: entryRules}.build(t)
			var seen []sight
			hooks := h.hooksOf(&in.Packet)
			hooks.entries.add(row.at, entry{priority: row.priority, turn: 1 << 40, run: func(_ *walk, s *skb) bool {
				now := sight{mark: s.Mark, tracked: s.conn != nil, src: s.Src.String(), dst: s.Dst.String()}
				if s.conn != nil {
					now.decided = s.conn.Bound(conntrack.Destination)
				}
				seen = append(seen, now)
				return true
			}})
			hooks.entries.sort()
			_, err := h.Verdict(in, nil)
			require.NoError(t, err)
			assert.Equal(t, []sight{row.want}, seen)
		})
	}
}

// TestEntryEndsTheWay: behind an entry that lets no packet by nothing is run.
func TestEntryEndsTheWay(t *testing.T) {
	in, err := inet.ParseInput("tcp 10.244.0.11:40000 > 10.96.0.1:80 in veth1")
	require.NoError(t, err)
	h, _ := testNode{rules4: entryRules}.build(t)
	hooks := h.hooksOf(&in.Packet)
	hooks.entries.add(preRouting, entry{priority: netfilter.PriorityMangle - 1, run: func(*walk, *skb) bool { return false }})
	hooks.entries.sort()
	o, err := h.Verdict(in, nil)
	require.NoError(t, err)
	assert.Equal(t, Drop, o.Verdict)
	assert.EqualValues(t, 1, o.Final.Mark, "the table raw marks, the table mangle is not reached")
}
