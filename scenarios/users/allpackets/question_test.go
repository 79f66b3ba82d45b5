package allpackets_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets/question"
)

// TestAQuestionIsOneForEachFamilyAndRange holds what is asked of the fates of each family.
func TestAQuestionIsOneForEachFamilyAndRange(t *testing.T) {
	host, err := packetsim.NewHost(packetsim.HostConfig{})
	require.NoError(t, err)
	for text, row := range map[string]struct {
		v4, v6 []forall.Question
		verb   string
	}{
		"what can reach 10.0.0.1:80?": {
			v4: []forall.Question{{EndDst: netip.MustParsePrefix("10.0.0.1/32"), EndPort: 80}}, verb: "can reach 10.0.0.1:80",
		},
		"fate of icmp to fd00::/64": {v6: []forall.Question{{Proto: 58, Dst: netip.MustParsePrefix("fd00::/64")}}, verb: "match the question"},
		"what is dropped udp from 10.1.2.3/8": {
			v4: []forall.Question{{Proto: 17, Src: netip.MustParsePrefix("10.0.0.0/8")}}, verb: "are dropped",
		},
		"what is rejected": {v4: []forall.Question{{}}, v6: []forall.Question{{}}, verb: "are rejected"},
	} {
		t.Run(text, func(t *testing.T) {
			q, err := question.Parse(text, nil, host)
			require.NoError(t, err)
			assert.Equal(t, row.verb, q.Verb)
			for family, want := range map[netfilter.Family][]forall.Question{netfilter.IPv4: row.v4, netfilter.IPv6: row.v6} {
				got := q.Of(family)
				for i := range got {
					got[i].Fate = nil // what the tests of "chainwalk ask" hold
				}
				assert.Equal(t, want, got)
			}
		})
	}
}
