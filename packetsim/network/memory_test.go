package network

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// TestConnectInIsConnect tells of connections one after the other in the same memory, which is taken back after each. What is forgotten
// there stays as it is.
func TestConnectInIsConnect(t *testing.T) {
	l := newNetLab(t, labRules)
	text := func(told []Connection) string {
		out, err := json.Marshal(told)
		require.NoError(t, err)
		return string(out)
	}
	var m Memory
	var kept []Connection
	for range 2 {
		for i, c := range []Connect{
			{From: "b1", Proto: inet.TCP, To: netip.MustParseAddrPort("10.96.0.10:80")},
			{From: "b1", Proto: inet.TCP, To: netip.MustParseAddrPort("10.96.0.99:80")}, // rejected
			{From: "outside", Proto: inet.TCP, To: netip.MustParseAddrPort("192.168.0.1:30080")},
			{From: "a1", Proto: inet.UDP, To: netip.MustParseAddrPort("10.99.0.1:53")}, // goes in circles
			{From: "a2", Proto: inet.UDP, To: netip.MustParseAddrPort("10.96.0.10:53")},
		} {
			want, err := l.Connect(c)
			require.NoError(t, err)
			got, err := l.ConnectIn(&m, c)
			require.NoError(t, err)
			assert.Equal(t, text(want), text(got))
			if i == 0 {
				kept = got
				m.Forget()
			} else {
				m.Release()
			}
		}
		want, err := l.Connect(Connect{From: "b1", Proto: inet.TCP, To: netip.MustParseAddrPort("10.96.0.10:80")})
		require.NoError(t, err)
		assert.Equal(t, text(want), text(kept), "nobody took it back")
	}
	assert.NotEmpty(t, m.steps.free)
	l.requireUntouched()
}
