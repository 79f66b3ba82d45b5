package packetsim

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTrace walks packets on node1 of the netLab and prints them, as text or as JSON.
func TestTrace(t *testing.T) {
	datadriven.RunTest(t, "testdata/trace.txt", func(t *testing.T, d *datadriven.TestData) string {
		in, err := ParseInput(d.Input)
		require.NoError(t, err)
		outcomes, err := newNetLab(t, labRules).Host("node1").Walk(in)
		require.NoError(t, err)
		var b strings.Builder
		result := NewTraceResult(in, outcomes)
		if d.Cmd == "json" {
			require.NoError(t, result.WriteJSON(&b))
		} else {
			require.NoError(t, result.WriteText(&b))
		}
		return b.String()
	})
}

func TestTraceHasNoNullLists(t *testing.T) {
	in, err := ParseInput("udp 10.0.0.1:1 > 10.0.0.2:2")
	require.NoError(t, err)
	outcomes := []Outcome{{Probability: 1, Verdict: Drop, To: ToNone, Reason: "no route", Final: Final{Proto: UDP, Src: in.Src, Dst: in.Dst}}}
	var b strings.Builder
	require.NoError(t, NewTraceResult(in, outcomes).WriteJSON(&b))
	assert.Contains(t, b.String(), `"steps": []`)
	assert.Nil(t, outcomes[0].Steps, "the caller's outcomes are not written to")

	b.Reset()
	require.NoError(t, NewTraceResult(in, nil).WriteJSON(&b))
	assert.Contains(t, b.String(), `"outcomes": []`)
}

func TestTraceTextSaysWhoChoosesThePort(t *testing.T) {
	in, err := ParseInput("tcp 10.0.0.1:40000 > 10.0.0.2:80 in eth0")
	require.NoError(t, err)
	outcomes := []Outcome{{
		Probability: 1.0 / 3, Verdict: Accept, To: ToForward, Out: "eth1", Masqueraded: true,
		Final: Final{Proto: TCP, Src: netip.MustParseAddr("10.0.0.9"), Dst: in.Dst, DstPort: 80},
	}}
	var b strings.Builder
	require.NoError(t, NewTraceResult(in, outcomes).WriteText(&b))
	assert.Equal(t, "tcp 10.0.0.1:40000 > 10.0.0.2:80 in eth0\n\n"+
		"outcome 1 of 1, probability 0.3333: accept, out of eth1\n"+
		"  source 10.0.0.1:40000 becomes 10.0.0.9, with a port that the kernel chooses\n", b.String())
}

func TestTraceSaysThatItCouldNotWrite(t *testing.T) {
	result := NewTraceResult(Input{}, nil)
	assert.ErrorIs(t, result.WriteText(closedWriter{}), os.ErrClosed)
	assert.ErrorIs(t, result.WriteJSON(closedWriter{}), os.ErrClosed)
}

type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }
