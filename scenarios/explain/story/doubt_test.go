package story

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
)

// forwarded is the trace of a packet that leaves as it came.
func forwarded(t *testing.T, doubts ...packetsim.Doubt) packetsim.TraceResult {
	in, err := inet.ParseInput("tcp 10.0.0.1:1 > 10.9.0.1:80 in veth1")
	require.NoError(t, err)
	result := packetsim.NewTraceResult(in,
		[]packetsim.Outcome{{Probability: 1, Verdict: packetsim.Accept, To: packetsim.ToForward, Out: "eth0",
			NextHop: netip.MustParseAddr("192.168.0.1"), Final: packetsim.FinalOf(&in.Packet)}})
	result.Doubts = doubts
	return result
}

var (
	native = packetsim.Doubt{Kind: packetsim.DoubtNFTables, Unless: "table inet fw drops it (chain c in forward, priority 0)",
		See: "nft list table inet fw"}
	off       = packetsim.Doubt{Kind: packetsim.DoubtUnread, Unless: "net.ipv4.ip_forward is 0"}
	extension = packetsim.Doubt{Kind: packetsim.DoubtExtension,
		Unless: "filter:FORWARD:rule:2 decides otherwise, whose match geoip is not known"}
)

func TestSentenceBeginsWithTheDoubt(t *testing.T) {
	const certain = "forwarded as it was by eth0 to 192.168.0.1"
	const first = "unless table inet fw drops it (chain c in forward, priority 0), "
	for _, row := range []struct {
		name   string
		doubts []packetsim.Doubt
		want   string
	}{
		{"none", nil, certain},
		{"one", []packetsim.Doubt{native}, first + certain},
		{"two", []packetsim.Doubt{native, off}, first + "and 1 more doubt, " + certain},
		{"three", []packetsim.Doubt{native, off, extension}, first + "and 2 more doubts, " + certain},
		{"a rule that is not known, which the sentence tells", []packetsim.Doubt{extension}, certain},
		{"such a rule first", []packetsim.Doubt{extension, off}, "unless net.ipv4.ip_forward is 0, and 1 more doubt, " + certain},
	} {
		t.Run(row.name, func(t *testing.T) {
			told := Of(forwarded(t, row.doubts...), Options{})
			assert.Equal(t, row.want, told.Sentence)
			assert.Equal(t, row.doubts, told.Doubts)
		})
	}
	told := OfConnections("tcp 10.0.0.1:1 > 10.9.0.1:80", []network.Connection{{Probability: 1, Why: "no source address"}},
		Options{Doubts: []packetsim.Doubt{off}})
	assert.Equal(t, "unless net.ipv4.ip_forward is 0, not sent: no source address", told.Sentence)
}

func TestDoubtsStandFirst(t *testing.T) {
	told := Of(forwarded(t, native, off), Options{})
	var text, drawn strings.Builder
	require.NoError(t, told.WriteText(&text, TextOptions{Summary: true}))
	assert.Equal(t, told.Sentence+`
packet: tcp 10.0.0.1:1 > 10.9.0.1:80 in veth1
undecided: unless table inet fw drops it (chain c in forward, priority 0); see: nft list table inet fw
undecided: unless net.ipv4.ip_forward is 0
`, text.String())
	require.NoError(t, told.WriteMermaid(&drawn))
	assert.Contains(t, drawn.String(), `doubts["undecided<br>unless table inet fw drops it (chain c in forward, priority 0)`)
	assert.Contains(t, drawn.String(), "  doubts -.- n1\n")
}
