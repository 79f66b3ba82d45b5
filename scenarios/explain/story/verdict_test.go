package story

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
)

func TestVerdictIsAWord(t *testing.T) {
	for want, way := range map[Verdict]packetsim.Outcome{
		Passes: {Verdict: packetsim.Accept}, Rejected: {Verdict: packetsim.Reject}, Dropped: {Verdict: packetsim.Drop},
		NotKnown: {Verdict: packetsim.Unknown},
	} {
		assert.Equal(t, want, verdictOf(&way))
	}
	ends := func(v packetsim.Verdict) network.Journey {
		return network.Journey{Hops: []network.Hop{{Outcome: packetsim.Outcome{Verdict: packetsim.Accept}},
			{Outcome: packetsim.Outcome{Verdict: v}}}}
	}
	for name, row := range map[string]struct {
		c    network.Connection
		want Verdict
	}{
		"made":                     {network.Connection{Made: true}, Passes},
		"refused":                  {network.Connection{Refused: true, Forward: ends(packetsim.Accept)}, Rejected},
		"a rule drops it":          {network.Connection{Forward: ends(packetsim.Drop)}, Dropped},
		"rejected, and not told":   {network.Connection{Forward: ends(packetsim.Reject)}, Rejected},
		"the answer does not come": {network.Connection{Server: "pod", Forward: ends(packetsim.Accept)}, Lost},
		"nobody has the address":   {network.Connection{Forward: ends(packetsim.Accept)}, Lost},
		"not sent":                 {network.Connection{}, Lost},
	} {
		assert.Equal(t, row.want, verdictOfConnection(&row.c), name)
	}
}

func TestOutcomesThatAreAlikeAreTogether(t *testing.T) {
	s := twoWays()
	for i := range s.Outcomes { // but for the endpoint, its chain and its share
		s.Outcomes[i].Verdict = Passes
	}
	assert.Equal(t, []Alike{{Places: []int{0, 1}, Share: 1, Text: "2 endpoints, 1/2 each"}}, s.Alike(2))
	s.Outcomes[1].Passages[0].Result = "dropped"
	assert.Equal(t, []Alike{{Places: []int{0}, Share: 0.5}, {Places: []int{1}, Share: 0.5}}, s.Alike(2))
	assert.Len(t, s.Alike(1), 1)
}

// TestVerdictKnowsTheReplyAndTheDoubts: a packet whose answer is lost does not pass, and of one that something unread may stop nobody
// knows.
func TestVerdictKnowsTheReplyAndTheDoubts(t *testing.T) {
	in, err := inet.ParseInput("tcp 10.0.0.1:1 > 10.0.0.2:2 in eth0")
	require.NoError(t, err)
	way := packetsim.Outcome{Probability: 1, Verdict: packetsim.Accept, To: packetsim.ToForward, Final: packetsim.FinalOf(&in.Packet)}
	verdict := func(r packetsim.TraceResult) Verdict { return Of(r, Options{}).Outcomes[0].Verdict }
	result := packetsim.TraceResult{Input: in, Outcomes: []packetsim.Outcome{way}}
	assert.Equal(t, Passes, verdict(result))
	result.Outcomes[0].Back = &packetsim.Back{Outcome: &packetsim.Outcome{Verdict: packetsim.Drop}, Why: "its reply is dropped"}
	assert.Equal(t, Lost, verdict(result))
	result.Outcomes[0].Back = nil
	result.Doubts = []packetsim.Doubt{{Kind: packetsim.DoubtNFTables, Unless: "table inet fw drops it"}}
	assert.Equal(t, NotKnown, verdict(result))
	result.Outcomes[0].Verdict = packetsim.Drop
	assert.Equal(t, Dropped, verdict(result))
}
