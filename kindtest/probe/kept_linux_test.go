package probe

import (
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// TestKeptConnection goes through the life of a connection, from both ends.
func TestKeptConnection(t *testing.T) {
	c := runAgents(t, "client", "server", "other")
	ctx := t.Context()
	at := loopback(t, unix.SOCK_STREAM, "127.0.0.1")
	require.NoError(t, c.Serve(ctx, "server", []Listener{listenerAt(inet.TCP, at)}))
	speak := func(agent string, side scenarios.Side, kind scenarios.PacketKind) Result {
		t.Helper()
		r, err := c.Speak(ctx, agent, Speech{Conn: "old", Side: side, Kind: kind})
		require.NoError(t, err)
		return r
	}
	came := func(agent string, kind scenarios.PacketKind, after uint64) Arrival {
		t.Helper()
		all, err := c.Arrivals(ctx, agent, Arrived{Conn: "old", Kind: kind, After: after, Wait: 5 * time.Second})
		require.NoError(t, err)
		require.Len(t, all, 1)
		return all[0]
	}
	open := func() Result {
		t.Helper()
		results, err := c.Dial(ctx, "client", Dial{Proto: inet.TCP, To: at, Keep: "old"})
		require.NoError(t, err)
		require.Equal(t, Answered, results[0].End)
		return results[0]
	}
	first := open()

	later := speak("client", scenarios.SideClient, scenarios.PacketData)
	assert.Equal(t, Answered, later.End)
	assert.Equal(t, "server", later.Server)
	assert.Equal(t, first.Client, later.Client, "the same connection")
	assert.NotEqual(t, first.Token, later.Token)

	back := speak("server", scenarios.SideServer, scenarios.PacketData)
	assert.Equal(t, Answered, back.End)
	assert.Equal(t, "client", back.Server, "who answers is at the client's end")
	assert.Equal(t, first.From, back.At)
	assert.Equal(t, scenarios.SideClient, came("client", scenarios.PacketData, 0).Side)

	assert.Equal(t, Answered, speak("client", scenarios.SideClient, scenarios.PacketFIN).End)
	fin := came("server", scenarios.PacketFIN, 0)
	assert.Equal(t, scenarios.SideServer, fin.Side)
	assert.Equal(t, Sent, speak("server", scenarios.SideServer, scenarios.PacketData).End, "the client says no more")
	got, err := c.Arrivals(ctx, "client", Arrived{Conn: "old", Kind: scenarios.PacketData, After: 1, Wait: 5 * time.Second})
	require.NoError(t, err)
	require.Len(t, got, 1, "and hears it all the same")
	assert.Equal(t, Answered, speak("server", scenarios.SideServer, scenarios.PacketFIN).End)
	if os.Geteuid() == 0 {
		assert.Equal(t, Sent, speak("client", scenarios.SideClient, scenarios.PacketData).End, "an acknowledgement, past the socket")
	}
	other := loopback(t, unix.SOCK_STREAM, "127.0.0.1")
	require.NoError(t, c.Serve(ctx, "other", []Listener{listenerAt(inet.TCP, other)}))
	again, err := c.Dial(ctx, "client", Dial{Proto: inet.TCP, From: fin.Client, To: other})
	require.NoError(t, err)
	assert.Equal(t, Answered, again[0].End, "%s: the port is free while the old connection waits", again[0].Why)

	open()
	assert.Equal(t, Sent, speak("server", scenarios.SideServer, scenarios.PacketRST).End)
	rst := came("client", scenarios.PacketRST, 0)
	assert.Equal(t, at, rst.Client)
	after := speak("client", scenarios.SideClient, scenarios.PacketData)
	assert.Equal(t, Refused, after.End, "it stays reset")
	assert.Equal(t, "tcp-reset", after.With)

	require.NoError(t, c.Drop(ctx, "client", "old", scenarios.SideClient))
	require.NoError(t, c.Drop(ctx, "client", "old", scenarios.SideClient), "it is gone already")
	_, err = c.Speak(ctx, "client", Speech{Conn: "old", Side: scenarios.SideClient, Kind: scenarios.PacketData})
	require.ErrorContains(t, err, "no connection of that name")
}

// TestKeptDatagrams: the same socket asks again, whoever answers, and the server can ask the client.
func TestKeptDatagrams(t *testing.T) {
	c := runAgents(t, "client", "server", "other")
	ctx := t.Context()
	at := loopback(t, unix.SOCK_DGRAM, "127.0.0.1")
	serve := func(agent string) { require.NoError(t, c.Serve(ctx, agent, []Listener{listenerAt(inet.UDP, at)})) }
	serve("server")
	results, err := c.Dial(ctx, "client", Dial{Proto: inet.UDP, To: at, Keep: "old"})
	require.NoError(t, err)
	speak := func(agent string, side scenarios.Side) Result {
		r, err := c.Speak(ctx, agent, Speech{Conn: "old", Side: side, Kind: scenarios.PacketData})
		require.NoError(t, err)
		return r
	}
	back := speak("server", scenarios.SideServer)
	assert.Equal(t, "client", back.Server)
	assert.Equal(t, results[0].From, back.At)
	require.NoError(t, c.Serve(ctx, "server", nil))
	gone := speak("client", scenarios.SideClient)
	assert.Equal(t, Refused, gone.End)
	assert.Equal(t, "icmp-port-unreachable", gone.With)
	serve("other")
	again := speak("client", scenarios.SideClient)
	assert.Equal(t, "other", again.Server)
	assert.Equal(t, results[0].Client, again.Client, "from the same socket")
	_, err = c.Speak(ctx, "client", Speech{Conn: "old", Side: scenarios.SideClient, Kind: scenarios.PacketFIN})
	require.ErrorContains(t, err, "udp has no fin")
}

// TestKeptConnectionOfOneAgentWithItself: one agent has both ends.
func TestKeptConnectionOfOneAgentWithItself(t *testing.T) {
	c := runAgents(t, "both")
	ctx := t.Context()
	at := loopback(t, unix.SOCK_STREAM, "127.0.0.1")
	require.NoError(t, c.Serve(ctx, "both", []Listener{listenerAt(inet.TCP, at)}))
	_, err := c.Dial(ctx, "both", Dial{Proto: inet.TCP, To: at, Keep: "self"})
	require.NoError(t, err)
	for _, side := range []scenarios.Side{scenarios.SideClient, scenarios.SideServer} {
		r, err := c.Speak(ctx, "both", Speech{Conn: "self", Side: side, Kind: scenarios.PacketData})
		require.NoError(t, err)
		assert.Equal(t, Answered, r.End)
	}
	came, err := c.Arrivals(ctx, "both", Arrived{Conn: "self", Kind: scenarios.PacketData})
	require.NoError(t, err)
	require.Len(t, came, 3)
	assert.Equal(t, []scenarios.Side{scenarios.SideServer, scenarios.SideServer, scenarios.SideClient},
		[]scenarios.Side{came[0].Side, came[1].Side, came[2].Side})
	require.NoError(t, c.Reset(ctx, "both"))
	came, err = c.Arrivals(ctx, "both", Arrived{})
	require.NoError(t, err)
	assert.Empty(t, came)
	results, err := c.Dial(ctx, "both", Dial{Proto: inet.TCP, To: at})
	require.NoError(t, err)
	assert.Equal(t, Refused, results[0].End)
}

func TestLoadOfLastingConnections(t *testing.T) {
	for _, proto := range []inet.Proto{inet.TCP, inet.UDP} {
		t.Run(proto.String(), func(t *testing.T) {
			c := runAgents(t, "client", "server")
			ctx := t.Context()
			at := loopback(t, kindOf(proto), "127.0.0.1")
			require.NoError(t, c.Serve(ctx, "server", []Listener{listenerAt(proto, at)}))
			l := Load{Name: "flows", Kind: Lasting, Proto: proto, To: at, Every: time.Millisecond, Connections: 3, Timeout: time.Second}
			require.NoError(t, c.StartLoad(ctx, "client", l))
			require.ErrorContains(t, c.StartLoad(ctx, "client", l), "there already")
			_, err := c.Arrivals(ctx, "server", Arrived{After: 30, Wait: 10 * time.Second})
			require.NoError(t, err)
			require.NoError(t, c.Reset(ctx, "server")) // the server is gone
			asked, err := c.StopLoad(ctx, "client", "flows")
			require.NoError(t, err)
			from := map[int]netip.AddrPort{}
			for _, a := range asked {
				if a.End != Answered || a.Server == "" { // an end of the connection without a word is an answer of nobody
					continue
				}
				if before, known := from[a.Conn]; known {
					require.Equal(t, before, a.Client, "connection %d", a.Conn)
				}
				from[a.Conn] = a.Client
				assert.GreaterOrEqual(t, a.Client.Port(), uint16(firstClientPort))
				assert.Less(t, a.Client.Port(), uint16(firstClientPort+clientPorts),
					"a port that was not used of late: nodes may remember one that was")
			}
			assert.Len(t, from, 3)
			assert.GreaterOrEqual(t, len(asked), 30)
			_, err = c.Asked(ctx, "client", "flows", 0)
			require.ErrorContains(t, err, "no load flows")
		})
	}
}
