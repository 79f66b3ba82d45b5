package network

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// TestConnectInIsConnect tells of connections one after the other in the same memory, which is taken back after each.
func TestConnectInIsConnect(t *testing.T) {
	l := newNetLab(t, labRules)
	text := func(told []Connection) string {
		out, err := json.Marshal(told)
		require.NoError(t, err)
		return string(out)
	}
	var m Memory
	for range 2 {
		for _, c := range []Connect{
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
			withoutEvents(want)
			assert.Equal(t, text(want), text(got))
			m.Release()
		}
	}
	assert.NotEmpty(t, m.steps.free)
	l.requireUntouched()
}

// withoutEvents leaves out of connections what is told of a host beside the steps.
func withoutEvents(told []Connection) {
	for i := range told {
		for _, j := range []*Journey{&told[i].Forward, told[i].Back, told[i].Third} {
			leaveOutEvents(j)
		}
	}
}

func leaveOutEvents(j *Journey) {
	if j == nil {
		return
	}
	for i := range j.Hops {
		leaveOutOf(&j.Hops[i].Outcome)
	}
	for i := range j.Answers {
		leaveOutEvents(&j.Answers[i])
	}
	for i := range j.Copies {
		leaveOutEvents(&j.Copies[i])
	}
}

func leaveOutOf(o *packetsim.Outcome) {
	o.Events = nil
	for i := range o.Replies {
		leaveOutOf(&o.Replies[i].Outcome)
	}
}
