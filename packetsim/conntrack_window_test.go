package packetsim

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// spoken is a segment of a conversation between 10.244.0.11:1000 and 10.244.0.12:80, whose first numbers are 1000 and 5000.
type spoken struct {
	wait    time.Duration
	server  bool // the server says it
	flags   inet.TCPFlags
	numbers inet.TCPNumbers
	state   string // of the packet
	entry   string
}

func say(t *testing.T, h *Host, s *spoken) Outcome {
	t.Helper()
	in := parse(t, "tcp "+there)
	if s.server {
		in = parse(t, "tcp "+back)
	}
	in.TCPFlags = s.flags
	in.Numbers = &s.numbers
	o, err := h.Step(in, SeededChance(0))
	require.NoError(t, err)
	return o
}

// opened are the segments of a handshake with windows of 1000 bytes.
var opened = []spoken{
	{0, false, inet.SYN, inet.TCPNumbers{Seq: 999, Window: 1000}, "NEW", "SYN_SENT 120 UNREPLIED"},
	{0, true, inet.SYN | inet.ACK, inet.TCPNumbers{Seq: 4999, Ack: 1000, Window: 1000}, "ESTABLISHED", "SYN_RECV 60"},
	{0, false, inet.ACK, inet.TCPNumbers{Seq: 1000, Ack: 5000, Window: 1000}, "ESTABLISHED", "ESTABLISHED 432000 ASSURED"},
}

var segmentLives = []struct {
	name    string
	sysctls map[string]string
	life    []spoken // after the handshake
}{
	{"data waits for its acknowledgement", nil, []spoken{
		{0, false, inet.PSH | inet.ACK, inet.TCPNumbers{Seq: 1000, Ack: 5000, Window: 1000, Data: 100}, "ESTABLISHED", "ESTABLISHED 300 ASSURED"},
		{0, true, inet.ACK, inet.TCPNumbers{Seq: 5000, Ack: 1100, Window: 1000}, "ESTABLISHED", "ESTABLISHED 432000 ASSURED"},
	}},
	{"the same acknowledgement again and again", nil, []spoken{
		{0, true, inet.ACK, inet.TCPNumbers{Seq: 5000, Ack: 1000, Window: 1000}, "ESTABLISHED", "ESTABLISHED 432000 ASSURED"},
		{0, true, inet.ACK, inet.TCPNumbers{Seq: 5000, Ack: 1000, Window: 1000}, "ESTABLISHED", "ESTABLISHED 432000 ASSURED"},
		{0, true, inet.ACK, inet.TCPNumbers{Seq: 5000, Ack: 1000, Window: 1000}, "ESTABLISHED", "ESTABLISHED 432000 ASSURED"},
		{0, true, inet.ACK, inet.TCPNumbers{Seq: 5000, Ack: 1000, Window: 1000}, "ESTABLISHED", "ESTABLISHED 300 ASSURED"},
	}},
	{"a closed window", nil, []spoken{
		{0, true, inet.ACK, inet.TCPNumbers{Seq: 5000, Ack: 1000}, "ESTABLISHED", "ESTABLISHED 300 ASSURED"},
	}},
	{"far beyond the window", nil, []spoken{
		{0, false, inet.PSH | inet.ACK, inet.TCPNumbers{Seq: 9000, Ack: 5000, Window: 1000, Data: 10}, "INVALID", "ESTABLISHED 432000 ASSURED"},
	}},
	{"far beyond the window, liberal", map[string]string{"net.netfilter.nf_conntrack_tcp_be_liberal": "1"}, []spoken{
		{0, false, inet.PSH | inet.ACK, inet.TCPNumbers{Seq: 9000, Ack: 5000, Window: 1000, Data: 10}, "ESTABLISHED",
			"ESTABLISHED 432000 ASSURED"},
	}},
	{"a little beyond the window passes and changes nothing", nil, []spoken{
		{time.Second, false, inet.PSH | inet.ACK, inet.TCPNumbers{Seq: 2001, Ack: 5000, Window: 1000, Data: 100}, "ESTABLISHED",
			"ESTABLISHED 431999 ASSURED"},
	}},
	{"acknowledges what was not sent", nil, []spoken{
		{0, false, inet.ACK, inet.TCPNumbers{Seq: 1000, Ack: 5001, Window: 1000}, "INVALID", "ESTABLISHED 432000 ASSURED"},
	}},
	{"old data again", nil, []spoken{
		{time.Second, false, inet.PSH | inet.ACK, inet.TCPNumbers{Seq: 4294965296, Ack: 5000, Window: 1000, Data: 100}, "ESTABLISHED",
			"ESTABLISHED 431999 ASSURED"},
	}},
	{"reset with the exact number", nil, []spoken{
		{0, true, inet.RST, inet.TCPNumbers{Seq: 5000}, "ESTABLISHED", "CLOSE 10 ASSURED"},
	}},
	{"reset before the last acknowledgement", nil, []spoken{
		{0, true, inet.RST, inet.TCPNumbers{Seq: 4990}, "INVALID", "ESTABLISHED 432000 ASSURED"},
	}},
	{"reset before the last acknowledgement, believed", map[string]string{"net.netfilter.nf_conntrack_tcp_ignore_invalid_rst": "1"}, []spoken{
		{0, true, inet.RST, inet.TCPNumbers{Seq: 4990}, "ESTABLISHED", "ESTABLISHED 10 ASSURED"},
	}},
	{"reset with another number in the window", nil, []spoken{
		{0, true, inet.RST, inet.TCPNumbers{Seq: 5100}, "ESTABLISHED", "ESTABLISHED 10 ASSURED"},
	}},
	{"both ends reset out of the window", nil, []spoken{
		{0, true, inet.RST, inet.TCPNumbers{Seq: 90000}, "INVALID", "ESTABLISHED 432000 ASSURED"},
		{0, false, inet.RST, inet.TCPNumbers{Seq: 90000}, "INVALID", "ESTABLISHED 300 ASSURED"},
	}},
}

func TestConntrackWindow(t *testing.T) {
	for _, row := range segmentLives {
		t.Run(row.name, func(t *testing.T) {
			h, clock := testNode{rules4: stateRules, sysctls: row.sysctls}.build(t)
			for i, s := range append(append([]spoken{}, opened...), row.life...) {
				clock.Step(s.wait)
				state := stateOf(say(t, h, &s))
				assert.Equal(t, s.state+" "+s.entry, state+" "+entryText(t, h), "segment %d", i)
			}
		})
	}
}

// TestPickedUpSideStaysLiberal: the windows of a connection that was picked up are not binding, even for the end that shakes hands again.
func TestPickedUpSideStaysLiberal(t *testing.T) {
	h, _ := testNode{rules4: stateRules}.build(t)
	for i, s := range []spoken{
		{0, false, inet.ACK, inet.TCPNumbers{Seq: 1000, Ack: 5000, Window: 1000}, "NEW", "ESTABLISHED 300 UNREPLIED"},
		{0, false, inet.SYN, inet.TCPNumbers{Seq: 1000, Window: 1000, SACKPermitted: true}, "NEW", "ESTABLISHED 300 UNREPLIED"},
		{0, true, inet.SYN | inet.ACK, inet.TCPNumbers{Seq: 5000, Ack: 1001, Window: 1000, SACKPermitted: true}, "ESTABLISHED", "SYN_RECV 60"},
		{0, true, inet.FIN | inet.ACK, inet.TCPNumbers{Seq: 4294897284, Ack: 1001, Window: 1000}, "ESTABLISHED", "FIN_WAIT 120"},
	} {
		state := stateOf(say(t, h, &s))
		assert.Equal(t, s.state+" "+s.entry, state+" "+entryText(t, h), "segment %d", i)
	}
}

// TestSecondSYNMovesTheWindow: the answer to the first SYN is late then, and so is its reset.
func TestSecondSYNMovesTheWindow(t *testing.T) {
	h, _ := testNode{rules4: stateRules}.build(t)
	for i, s := range []spoken{
		{0, false, inet.SYN, inet.TCPNumbers{Seq: 1000, Window: 8192}, "NEW", "SYN_SENT 120 UNREPLIED"},
		{0, false, inet.SYN, inet.TCPNumbers{Seq: 1000 + 1<<30, Window: 8192}, "NEW", "SYN_SENT 120 UNREPLIED"},
		{0, true, inet.SYN | inet.ACK, inet.TCPNumbers{Seq: 1000, Ack: 1001, Window: 8192}, "ESTABLISHED", "SYN_SENT 120"},
		{0, false, inet.RST, inet.TCPNumbers{Seq: 1001}, "ESTABLISHED", "SYN_SENT 120"},
	} {
		state := stateOf(say(t, h, &s))
		assert.Equal(t, s.state+" "+s.entry, state+" "+entryText(t, h), "segment %d", i)
	}
}

func TestScaledWindow(t *testing.T) {
	h, _ := testNode{rules4: stateRules}.build(t)
	for i, s := range []spoken{
		{0, false, inet.SYN, inet.TCPNumbers{Seq: 999, Window: 1000, HasScale: true, Scale: 3}, "NEW", ""},
		{0, true, inet.SYN | inet.ACK, inet.TCPNumbers{Seq: 4999, Ack: 1000, Window: 1000, HasScale: true, Scale: 15}, "ESTABLISHED", ""},
		{0, false, inet.ACK, inet.TCPNumbers{Seq: 1000, Ack: 5000, Window: 10000}, "ESTABLISHED", ""},
		{0, true, inet.PSH | inet.ACK, inet.TCPNumbers{Seq: 5000 + 79999, Ack: 1000, Window: 1000}, "ESTABLISHED", ""},
		{0, true, inet.PSH | inet.ACK, inet.TCPNumbers{Seq: 5000 + 300000, Ack: 1000, Window: 1000}, "INVALID", ""},
		{0, false, inet.PSH | inet.ACK, inet.TCPNumbers{Seq: 1000 + 1000<<14, Ack: 5000, Window: 1000}, "ESTABLISHED", ""},
		{0, false, inet.PSH | inet.ACK, inet.TCPNumbers{Seq: 1000 + 1900<<14, Ack: 5000, Window: 1000, Data: 2000 << 14}, "INVALID", ""},
	} {
		assert.Equal(t, s.state, stateOf(say(t, h, &s)), "segment %d", i)
	}
}

// TestSelectiveAcknowledgement: with SACK a late acknowledgement counts by its last block, if the other end takes such.
func TestSelectiveAcknowledgement(t *testing.T) {
	for permitted, want := range map[bool]string{true: "INVALID", false: "ESTABLISHED"} {
		h, _ := testNode{rules4: stateRules}.build(t)
		for _, s := range []spoken{
			{0, false, inet.SYN, inet.TCPNumbers{Seq: 999, Window: 1000, SACKPermitted: permitted}, "", ""},
			{0, true, inet.SYN | inet.ACK, inet.TCPNumbers{Seq: 4999, Ack: 1000, Window: 1000, SACKPermitted: permitted}, "", ""},
			{0, false, inet.ACK, inet.TCPNumbers{Seq: 1000, Ack: 5000, Window: 1000}, "", ""},
		} {
			say(t, h, &s)
		}
		unsent := &spoken{0, true, inet.ACK, inet.TCPNumbers{Seq: 5000, Ack: 1000, Window: 1000, SACK: []inet.SACKBlock{{Left: 1100,
			Right: 1200}}}, "", ""}
		assert.Equal(t, want, stateOf(say(t, h, unsent)), "SACK permitted: %t", permitted)
	}
}

func TestResetOfTheHostClosesConnection(t *testing.T) {
	rules := "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m conntrack --ctstate ESTABLISHED -p tcp -m tcp --sport 1000 -j REJECT " +
		"--reject-with tcp-reset\nCOMMIT\n"
	h, _ := testNode{rules4: rules}.build(t)
	step(t, h, "tcp "+there)
	step(t, h, "tcp "+back+"flags SYN,ACK")
	step(t, h, "tcp "+there+"flags ACK")
	assert.Equal(t, "CLOSE 10 ASSURED", entryText(t, h))
}

// chunked are SCTP packets and what is known after them: the chunk, the tag and the initiate tag.
func TestConntrackChunks(t *testing.T) {
	type packet struct {
		server  bool
		tag     uint32
		chunk   inet.SCTPChunk
		state   string
		entry   string
		waiting time.Duration
	}
	init, initAck := inet.SCTPChunk{Type: inet.SCTPInit, InitTag: 22}, inet.SCTPChunk{Type: inet.SCTPInitAck, InitTag: 11}
	handshake := []packet{
		{false, 0, init, "NEW", "CLOSED 10 UNREPLIED", 0},
		{true, 22, initAck, "ESTABLISHED", "COOKIE_WAIT 3", 0},
		{false, 11, inet.SCTPChunk{Type: inet.SCTPCookieEcho}, "ESTABLISHED", "COOKIE_ECHOED 3", 0},
		{true, 22, inet.SCTPChunk{Type: inet.SCTPCookieAck}, "ESTABLISHED", "ESTABLISHED 210 ASSURED", 0},
	}
	rows := []struct {
		name string
		life []packet
	}{
		{"shut down by the client", append(handshake[:4:4],
			packet{false, 11, inet.SCTPChunk{Type: inet.SCTPShutdown}, "ESTABLISHED", "SHUTDOWN_SENT 3 ASSURED", 0},
			packet{true, 22, inet.SCTPChunk{Type: inet.SCTPShutdownAck}, "ESTABLISHED", "SHUTDOWN_ACK_SENT 3 ASSURED", 0},
			packet{false, 11, inet.SCTPChunk{Type: inet.SCTPShutdownComplete}, "ESTABLISHED", "CLOSED 10 ASSURED", 0},
		)},
		{"wrong tag", append(handshake[:4:4], packet{false, 12, inet.SCTPChunk{Type: inet.SCTPData}, "INVALID", "ESTABLISHED 210 ASSURED", 0})},
		{"abort with the tag reflected", append(handshake[:4:4],
			packet{false, 22, inet.SCTPChunk{Type: inet.SCTPAbort}, "INVALID", "ESTABLISHED 210 ASSURED", 0},
			packet{false, 22, inet.SCTPChunk{Type: inet.SCTPAbort, Flags: 1}, "ESTABLISHED", "CLOSED 10 ASSURED", 0},
		)},
		{"repeated INIT does not keep the entry alive", []packet{handshake[0], {false, 0, init, "NEW", "CLOSED 4 UNREPLIED", 6 * time.Second}}},
		{"the first INIT excuses an INIT ACK with another tag", []packet{
			handshake[0],
			{false, 33, inet.SCTPChunk{Type: inet.SCTPHeartbeatAck}, "NEW", "CLOSED 10 UNREPLIED", 0},
			{true, 22, inet.SCTPChunk{Type: inet.SCTPInitAck, InitTag: 44}, "ESTABLISHED", "COOKIE_WAIT 3", 0},
		}},
		{"a repeated INIT excuses none", append(handshake[:4:4],
			packet{true, 0, inet.SCTPChunk{Type: inet.SCTPInit, InitTag: 11}, "ESTABLISHED", "ESTABLISHED 210 ASSURED", 0},
			packet{false, 11, inet.SCTPChunk{Type: inet.SCTPInitAck, InitTag: 44}, "INVALID", "ESTABLISHED 210 ASSURED", 0},
		)},
		{"data without an association", []packet{{false, 11, inet.SCTPChunk{Type: inet.SCTPData}, "INVALID", "none", 0}}},
		{"heartbeat of a second path", []packet{
			{false, 11, inet.SCTPChunk{Type: inet.SCTPHeartbeat}, "NEW", "HEARTBEAT_SENT 30 UNREPLIED", 0},
			{true, 22, inet.SCTPChunk{Type: inet.SCTPHeartbeatAck}, "ESTABLISHED", "ESTABLISHED 210 ASSURED", 0},
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			h, clock := testNode{rules4: stateRules}.build(t)
			for i, p := range row.life {
				clock.Step(p.waiting)
				in := parse(t, "sctp "+there)
				if p.server {
					in = parse(t, "sctp "+back)
				}
				in.VerificationTag, in.Chunks = p.tag, []inet.SCTPChunk{p.chunk}
				o, err := h.Step(in, SeededChance(0))
				require.NoError(t, err)
				assert.Equal(t, p.state+" "+p.entry, stateOf(o)+" "+entryText(t, h), "packet %d: %s", i, p.chunk.Type)
			}
		})
	}
}

func TestZones(t *testing.T) {
	zoned := func(target string) string {
		return "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -i veth1 -j " + target + "\nCOMMIT\n" +
			stateRules[len("*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -m udp --dport 999 -j NOTRACK\nCOMMIT\n"):]
	}
	for _, row := range []struct {
		name, target, reply string
		zone                conntrack.Zone
	}{
		{"of both directions", "CT --zone 5", "NEW", conntrack.Zone{Original: 5, Reply: 5}},
		{"of the original direction", "CT --zone-orig 5", "ESTABLISHED", conntrack.Zone{Original: 5, Reply: 0}},
		{"of the reply direction", "CT --zone-reply 5", "NEW", conntrack.Zone{Original: 0, Reply: 5}},
	} {
		t.Run(row.name, func(t *testing.T) {
			h, _ := testNode{rules4: zoned(row.target)}.build(t)
			step(t, h, "udp "+there)
			assert.Equal(t, row.zone, h.Conntrack()[0].Zone)
			assert.Equal(t, row.reply, stateOf(step(t, h, "udp "+back)), "the reply is in zone 0")
			twin, _ := testNode{rules4: zoned(row.target), conntrack: h.Conntrack()}.build(t)
			assert.Equal(t, h.Conntrack(), twin.Conntrack())
		})
	}
	_, err := NewHost(HostConfig{Conntrack: []conntrack.Entry{{
		Original: conntrack.Tuple{Proto: inet.UDP, Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2")},
		Reply:    conntrack.Tuple{Proto: inet.UDP, Src: netip.MustParseAddr("10.0.0.2"), Dst: netip.MustParseAddr("10.0.0.1")},
		Zone:     conntrack.Zone{Original: 1, Reply: 2},
	}}})
	require.ErrorContains(t, err, "the zones 1 and 2 differ")
}

func TestTableFull(t *testing.T) {
	sysctls := map[string]string{"net.netfilter.nf_conntrack_max": "2", "net.netfilter.nf_conntrack_buckets": "8"}
	t.Run("evicts what is not assured", func(t *testing.T) {
		h, clock := testNode{rules4: stateRules, sysctls: sysctls}.build(t)
		for _, port := range []string{"1", "2", "3"} {
			require.Equal(t, Accept, step(t, h, "udp 10.244.0.11:"+port+" > 10.244.0.12:80 in veth1").Verdict)
			clock.Step(time.Second)
		}
		require.Len(t, h.Conntrack(), 2)
		assert.EqualValues(t, 2, h.Conntrack()[0].Original.SrcPort, "the oldest is gone")
	})
	t.Run("drops where all are assured", func(t *testing.T) {
		h, clock := testNode{rules4: stateRules, sysctls: sysctls}.build(t)
		for _, port := range []string{"1", "2"} {
			for range 2 {
				step(t, h, "udp 10.244.0.11:"+port+" > 10.244.0.12:80 in veth1")
				step(t, h, "udp 10.244.0.12:80 > 10.244.0.11:"+port+" in veth2")
				clock.Step(3 * time.Second)
			}
		}
		assert.Equal(t, "drop conntrack table full", brief(walkOne(t, h, "udp 10.244.0.11:3 > 10.244.0.12:80 in veth1")))
		assert.Equal(t, "drop conntrack table full", brief(walkOne(t, h, "tcp 10.244.0.11:3 > 10.244.0.12:80 in veth1 flags SYN,ACK")),
			"before it is found invalid")
		assert.Equal(t, Accept, walkOne(t, h, "udp 10.244.0.11:1 > 10.244.0.12:80 in veth1").Verdict)
		clock.Step(121 * time.Second)
		assert.Equal(t, Accept, walkOne(t, h, "udp 10.244.0.11:3 > 10.244.0.12:80 in veth1").Verdict, "the others have expired")
	})
	t.Run("leaves the eviction to chance", func(t *testing.T) {
		sysctls["net.netfilter.nf_conntrack_buckets"] = "16"
		h, _ := testNode{rules4: stateRules, sysctls: sysctls}.build(t)
		step(t, h, "udp 10.244.0.11:1 > 10.244.0.12:80 in veth1")
		step(t, h, "udp 10.244.0.11:2 > 10.244.0.12:80 in veth1")
		outcomes, err := h.Walk(parse(t, "udp 10.244.0.11:3 > 10.244.0.12:80 in veth1"))
		require.NoError(t, err)
		require.Len(t, outcomes, 2)
		assert.InDelta(t, 15.0/16, outcomes[0].Probability, 1e-9)
		assert.Equal(t, ReasonConntrackFull, outcomes[1].Reason)
		assert.Len(t, h.Conntrack(), 2)
	})
}
