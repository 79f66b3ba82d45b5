//go:build linux

package packetsim

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// fullTable is the limit of the tests: above what other namespaces hold meanwhile, and below 100, from which on the kernel's
// garbage collection evicts at times of its own.
const fullTable = 64

// machineConntrack sets a conntrack sysctl that all namespaces share, and puts it back. The test is in the first namespace. It gives the
// value that the kernel made of it.
func machineConntrack(t *testing.T, name string, value int) string {
	path := "/proc/sys/net/netfilter/nf_conntrack_" + name
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.WriteFile(path, before, 0o644)) })
	require.NoError(t, os.WriteFile(path, []byte(strconv.Itoa(value)), 0o644))
	now, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.TrimSpace(string(now))
}

// establish opens a TCP connection, which is assured then.
func (p *ctPlay) establish(sport uint16) {
	packet := p.flow(inet.TCP, sport, 80)
	p.forward(packet)
	answer := p.back(packet)
	answer.TCPFlags, answer.Numbers = inet.SYN|inet.ACK, &inet.TCPNumbers{Seq: 5000, Ack: 2, Window: 1000}
	p.exchange("server", answer)
	packet.TCPFlags, packet.Numbers = inet.ACK, &inet.TCPNumbers{Seq: 2, Ack: 5001, Window: 1000}
	p.forward(packet)
}

// TestFullTableAsKernel fills the table with connections that cannot be evicted.
func TestFullTableAsKernel(t *testing.T) {
	needKernel(t, "iptables-legacy-restore")
	limit := machineConntrack(t, "max", fullTable)
	lab := newCTLab(t)
	p := lab.scene(t, netfilter.IPv4, ctFilter)
	require.NoError(t, p.host.SetSysctl("net.netfilter.nf_conntrack_max", limit))
	for i := range uint16(fullTable) {
		p.establish(1000 + i)
	}
	require.Len(t, p.host.Conntrack(), fullTable)
	dropped := func(place string, packet inet.Packet, what string) {
		for place, got := range p.exchange(place, packet) {
			require.Empty(t, got, "%s came to %s", what, place)
		}
	}
	dropped("client", p.flow(inet.UDP, 1, 80), "a new connection")
	dropped("client", p.flow(inet.TCP, 1, 80), "a new TCP connection")
	invalid := p.flow(inet.UDP, 2, 80)
	invalid.Proto, invalid.SrcPort, invalid.DstPort, invalid.ICMPType, invalid.ICMPID = inet.ICMP, 0, 0, inet.ICMPEchoReply, 9
	dropped("client", invalid, "an answer to nothing")
	invalid = p.flow(inet.TCP, 3, 80)
	invalid.TCPFlags = inet.SYN | inet.ACK
	dropped("client", invalid, "a segment that begins nothing")
	invalid.TCPFlags = inet.FIN | inet.SYN
	dropped("client", invalid, "a segment that cannot be")

	known := p.flow(inet.TCP, 1000, 80)
	known.TCPFlags, known.Numbers = inet.ACK, &inet.TCPNumbers{Seq: 2, Ack: 5001, Window: 1000}
	p.forward(known)
	p.icmpErrorAbout(known)
	closing := p.flow(inet.TCP, 1001, 80)
	closing.TCPFlags, closing.Numbers = inet.RST, &inet.TCPNumbers{Seq: 2}
	p.forward(closing)
	dropped("client", p.flow(inet.UDP, 1, 80), "a new connection beside one that is over")
	lab.run("conntrack", "-D", "-p", "tcp", "--sport", "1002")
	require.Equal(t, 1, p.host.DeleteConntrack(conntrack.Filter{Proto: inet.TCP, OrigSrcPort: 1002}.Matches))
	require.NotEmpty(t, p.exchange("client", p.flow(inet.UDP, 1, 80))["server"], "there is room for one")
	dropped("client", p.flow(inet.UDP, 2, 80), "one more")
	p.sameCounts(t, "a full table")
}

// icmpErrorAbout sends an error of the server about a packet.
func (p *ctPlay) icmpErrorAbout(about inet.Packet) {
	p.exchange("server", inet.Packet{Proto: inet.ICMP, Src: about.Dst, Dst: about.Src, ICMPType: inet.ICMPUnreachable, ICMPCode: 1,
		Inner: &about})
}

// TestEvictionAsKernel lets far more connections begin than the table holds. The kernel looks for one to evict at a few places of the
// table, which is made so small that it often finds one: the share of the packets that pass is to be ours.
func TestEvictionAsKernel(t *testing.T) {
	needKernel(t, "iptables-legacy-restore")
	limit := machineConntrack(t, "max", fullTable)
	buckets := machineConntrack(t, "buckets", 512)
	lab := newCTLab(t)
	p := lab.scene(t, netfilter.IPv4, ctFilter)
	require.NoError(t, p.host.SetSysctl("net.netfilter.nf_conntrack_max", limit))
	require.NoError(t, p.host.SetSysctl("net.netfilter.nf_conntrack_buckets", buckets))
	const assured, begun = 8, 400
	for i := range uint16(assured) {
		p.establish(1000 + i)
	}
	passed, reached := 0, 0
	chance := SeededChance(1)
	for i := range uint16(fullTable + begun) {
		packet := p.flow(inet.UDP, 2000+i, 80)
		lab.send("client", packet)
		o, err := p.host.Step(inet.Input{Packet: packet, In: "ctc"}, chance)
		require.NoError(t, err)
		if o.To == ToForward {
			passed++
		}
		reached += len(lab.captured("server", netfilter.IPv4)) // its buffer is small
	}
	reached += p.barrier(t, 1000)
	share := func(n int) float64 { return float64(n) / (fullTable + begun) }
	t.Logf("passed: kernel %.3f, ours %.3f", share(reached), share(passed))
	assert.InDelta(t, share(reached), share(passed), 0.08)
	isAssured := func(list []conntrack.Entry) (n int) {
		for _, e := range list {
			if e.Assured {
				n++
			}
		}
		return n
	}
	assert.Equal(t, assured, isAssured(lab.entries(netfilter.IPv4)))
	assert.Equal(t, assured, isAssured(p.host.Conntrack()))
}

// barrier sends a packet of an established connection and gives the number of packets that came to the server before it.
func (p *ctPlay) barrier(t *testing.T, sport uint16) (before int) {
	known := p.flow(inet.TCP, sport, 80)
	known.TCPFlags, known.Numbers = inet.ACK, &inet.TCPNumbers{Seq: 2, Ack: 5001, Window: 1000}
	p.lab.send("client", known)
	for range 100 {
		for _, packet := range p.lab.captured("server", p.family) {
			if packet.Proto == inet.TCP {
				return before
			}
			before++
		}
		p.lab.wait()
	}
	require.Fail(t, "the packet of an established connection did not come")
	return before
}
