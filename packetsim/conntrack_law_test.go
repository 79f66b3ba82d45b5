package packetsim

import (
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// lawRules translate in every way: to a service, to a range of addresses and ports, by masquerade into few ports, in zones.
const lawRules = `*raw
:PREROUTING ACCEPT [0:0]
-A PREROUTING -p udp -m udp --dport 81 -j CT --zone-orig 3
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A PREROUTING -d 10.96.0.1/32 -p tcp -j DNAT --to-destination 10.244.0.12:8080-8081
-A PREROUTING -d 10.96.0.1/32 -p udp -j DNAT --to-destination 10.244.0.12:9000-9001/80
-A PREROUTING -d 10.96.0.2/32 -j DNAT --to-destination 10.244.0.12
-A PREROUTING -d 10.96.0.3/32 -j DNAT --to-destination 10.244.0.11-10.244.0.12
-A POSTROUTING -s 192.168.0.0/24 -p tcp -j MASQUERADE --to-ports 300-303
-A POSTROUTING -s 192.168.0.0/24 -p udp -j MASQUERADE --random
-A POSTROUTING -s 192.168.0.0/24 -p icmp -j SNAT --to-source 10.3.0.1-10.3.0.4
-A POSTROUTING -s 10.244.0.12/32 -j SNAT --to-source 10.3.0.1-10.3.0.4 --persistent
COMMIT
`

// lawPacket draws a first packet from so few that connections meet.
func lawPacket(rt *rapid.T) inet.Input {
	source := rapid.SampledFrom([]inet.Input{
		{In: "veth1", Packet: inet.Packet{Src: netip.MustParseAddr("10.244.0.11")}},
		{In: "veth2", Packet: inet.Packet{Src: netip.MustParseAddr("10.244.0.12")}},
		{In: "eth0", Packet: inet.Packet{Src: netip.MustParseAddr("192.168.0.9")}},
		{In: "eth0", Packet: inet.Packet{Src: netip.MustParseAddr("192.168.0.8")}},
	}).Draw(rt, "source")
	source.Dst = netip.MustParseAddr(rapid.SampledFrom([]string{"10.96.0.1", "10.96.0.2", "10.96.0.3", "10.244.0.12", "8.8.8.8"}).Draw(rt,
		"to"))
	source.Proto = rapid.SampledFrom([]inet.Proto{inet.TCP, inet.UDP, inet.ICMP, inet.SCTP, 99}).Draw(rt, "proto")
	switch source.Proto {
	case inet.ICMP:
		source.ICMPType, source.ICMPID = inet.ICMPEcho, rapid.Uint16Range(1, 2).Draw(rt, "id")
	case inet.TCP, inet.UDP, inet.SCTP:
		source.SrcPort = rapid.SampledFrom([]uint16{301, 1000, 1001}).Draw(rt, "sport")
		source.DstPort = rapid.SampledFrom([]uint16{80, 81, 8080}).Draw(rt, "dport")
	}
	if source.Proto == inet.TCP {
		source.TCPFlags = inet.SYN
	}
	return source
}

// TestEveryAnswerIsTheInverse: the answer to what left comes out as the answer to what came in, where that came in.
func TestEveryAnswerIsTheInverse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h, _ := testNode{rules4: lawRules}.build(t)
		for range rapid.IntRange(1, 12).Draw(rt, "packets") {
			in := lawPacket(rt)
			out, err := h.Step(in, SeededChance(rapid.Uint64().Draw(rt, "seed")))
			require.NoError(rt, err)
			if out.To != ToForward {
				continue
			}
			answer := out.Packet.Answer()
			if answer.Proto == inet.TCP {
				answer.TCPFlags = inet.SYN | inet.ACK
			}
			back, err := h.Step(inet.Input{In: out.Out, Packet: answer}, SeededChance(0))
			require.NoError(rt, err)
			want := conntrack.TupleOf(&in.Packet)
			require.Equal(rt, want.Inverse(), conntrack.TupleOf(&back.Packet), "of %s, which left as %s", in, header(out.Packet))
			require.Equal(rt, in.In, back.Out)
			require.NoError(rt, h.conns.Check())
		}
	})
}

// TestRollbackOfConntrack: whatever packets do to the table between checkpoints, a rollback brings back every state and every index.
func TestRollbackOfConntrack(t *testing.T) {
	race.OneGoroutine(t)
	sample.Checks(t, 25)
	rapid.Check(t, func(rt *rapid.T) {
		h, clock := testNode{rules4: lawRules, sysctls: map[string]string{"net.netfilter.nf_conntrack_max": "6",
			"net.netfilter.nf_conntrack_buckets": "8"}}.build(t)
		var play func(depth int)
		play = func(depth int) {
			for range rapid.IntRange(1, 6).Draw(rt, "packets") {
				in := lawPacket(rt)
				if in.Proto == inet.TCP {
					in.TCPFlags = rapid.SampledFrom([]inet.TCPFlags{inet.SYN, inet.SYN | inet.ACK, inet.ACK, inet.FIN | inet.ACK, inet.RST}).Draw(rt,
						"flags")
				}
				_, err := h.Step(in, SeededChance(rapid.Uint64().Draw(rt, "seed")))
				require.NoError(rt, err)
				require.NoError(rt, h.conns.Check())
				if depth == 0 {
					clock.Step(time.Duration(rapid.IntRange(0, 40).Draw(rt, "wait")) * time.Second)
				}
				if depth < 3 && rapid.Bool().Draw(rt, "checkpoint") {
					before, mark := h.conns.Dump(), h.checkpoint()
					play(depth + 1)
					if rapid.Bool().Draw(rt, "rolled back") {
						h.rollback(mark)
						require.Equal(rt, before, h.conns.Dump())
					} else {
						h.keep()
					}
					require.NoError(rt, h.conns.Check())
				}
			}
		}
		play(0)
		require.Zero(rt, h.memory.depth)
		require.Regexp(rt, `(?m)^0 0$`, h.conns.Dump(), "nothing is left to undo")
	})
}

// TestExpiredConnectionsAreSwept: the table does not keep what nobody asks for any more.
func TestExpiredConnectionsAreSwept(t *testing.T) {
	h, clock := testNode{rules4: stateRules}.build(t)
	in := parse(t, "udp 10.244.0.11:1 > 10.244.0.12:80 in veth1")
	for i := range 10 * conntrack.LeastSweep {
		in.SrcPort, in.DstPort = uint16(1+i%60000), uint16(1+i/60000)
		_, err := h.Step(in, SeededChance(0))
		require.NoError(t, err)
		clock.Step(time.Second)
	}
	require.LessOrEqual(t, h.conns.Size(), conntrack.LeastSweep+1)
	require.Len(t, h.Conntrack(), 29)
}

// established is a host with so many connections, and a packet of one of them on its way to conntrack.
func established(tb testing.TB, connections int) (*walk, *skb) {
	h, _ := testNode{rules4: natRules}.build(tb)
	in := parse(tb, "tcp 10.244.0.11:1000 > 10.96.0.1:80 in veth1")
	for i := range connections {
		in.SrcPort, in.Src = uint16(1000+i%60000), netip.AddrFrom4([4]byte{10, 244, 1, byte(i / 60000)})
		_, err := h.Step(in, SeededChance(0))
		require.NoError(tb, err)
	}
	back := inet.Packet{Proto: inet.TCP, Src: netip.MustParseAddr("10.244.0.12"), SrcPort: 8080, Dst: netip.MustParseAddr("10.244.1.0"),
		DstPort:  1000,
		TCPFlags: inet.SYN | inet.ACK}
	_, err := h.Step(inet.Input{In: "veth2", Packet: back}, SeededChance(0))
	require.NoError(tb, err)
	in.SrcPort, in.Src, in.TCPFlags = 1000, netip.MustParseAddr("10.244.1.0"), inet.ACK
	_, err = h.Step(in, SeededChance(0))
	require.NoError(tb, err)
	return h.newWalk(SeededChance(0), 0, &Outcome{}), &skb{Packet: in.Packet}
}

// trackEstablished is what conntrack does with a packet of a connection that it knows, its lookup and the journal's work included.
func trackEstablished(w *walk, s *skb) {
	mark := w.h.checkpoint()
	s.conn, s.relation = nil, isInvalid
	w.conntrack.trackStep(s)
	w.h.rollback(mark)
}

func TestTrackingAllocatesNothing(t *testing.T) {
	w, s := established(t, 10)
	require.Zero(t, testing.AllocsPerRun(100, func() { trackEstablished(w, s) }))
	require.Equal(t, isEstablished, s.relation)
}

func BenchmarkTrackEstablished(b *testing.B) {
	for _, connections := range []int{1, 100000} {
		b.Run("connections="+strconv.Itoa(connections), func(b *testing.B) {
			w, s := established(b, connections)
			b.ReportAllocs()
			for b.Loop() {
				trackEstablished(w, s)
			}
		})
	}
}

// BenchmarkClash is a first packet that looks for a port among those of so many connections.
func BenchmarkClash(b *testing.B) {
	h, _ := testNode{rules4: "*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -j SNAT --to-source 10.0.0.1\nCOMMIT\n"}.build(b)
	in := parse(b, "udp 10.244.0.11:4000 > 8.8.8.8:53 in veth1")
	for i := range 30000 {
		in.Src = netip.AddrFrom4([4]byte{10, 245, byte(i >> 8), byte(i)})
		_, err := h.Step(in, SeededChance(uint64(i)))
		require.NoError(b, err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Verdict(in, SeededChance(1)); err != nil {
			b.Fatal(err)
		}
	}
}

// TestOrderOfSourcesIsKept: of several connections of one source the latest is the one whose translation is tried first, also after a
// rollback.
func TestOrderOfSourcesIsKept(t *testing.T) {
	h, _ := testNode{rules4: lawRules}.build(t)
	for _, dst := range []string{"8.8.8.8", "9.9.9.9", "7.7.7.7"} {
		step(t, h, "udp 192.168.0.9:1000 > "+dst+":53 in eth0")
	}
	before := h.conns.Dump()
	mark := h.checkpoint()
	second := conntrack.TupleOf(&inet.Packet{Proto: inet.UDP, Src: netip.MustParseAddr("192.168.0.9"), SrcPort: 1000,
		Dst:     netip.MustParseAddr("9.9.9.9"),
		DstPort: 53})
	c, _ := h.conns.Find(&second, conntrack.Zone{})
	h.conns.Remove(c)
	require.Len(t, h.conns.Entries(), 2)
	require.NoError(t, h.conns.Check())
	h.rollback(mark)
	require.Equal(t, before, h.conns.Dump())
}
