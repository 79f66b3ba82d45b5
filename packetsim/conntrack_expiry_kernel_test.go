//go:build linux

package packetsim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// shortTimeouts are long enough that all packets are sent before the first entry expires, unless the machine is busy.
var shortTimeouts = map[string]string{
	"udp_timeout": "2", "icmp_timeout": "1", "icmpv6_timeout": "1", "generic_timeout": "2", "gre_timeout": "1",
	"tcp_timeout_syn_sent": "1", "tcp_timeout_syn_recv": "2", "tcp_timeout_close": "1", "sctp_timeout_closed": "2",
}

// TestExpiryAsKernel waits until entries of every protocol are gone, and compares when each went.
func TestExpiryAsKernel(t *testing.T) {
	needKernel(t, "iptables-legacy-restore", "ip6tables-legacy-restore")
	lab := newCTLab(t)
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		for tries := 0; !lab.letExpire(t, family); tries++ {
			require.Less(t, tries, 20, "the machine is so busy that entries expire before all packets are sent")
		}
	}
}

// shortestTimeout is the shortest of shortTimeouts.
const shortestTimeout = time.Second

// letExpire sends packets, waits until their entries are gone on both sides, and compares when each went. False: an entry may have been
// gone before all packets were sent, and nothing was compared.
func (l *ctLab) letExpire(t *testing.T, family netfilter.Family) bool {
	p := l.scene(t, family, ctFilter)
	sysctls := map[string]string{}
	for name, value := range shortTimeouts {
		l.conntrackSysctl(sysctls, name, value)
		require.NoError(t, p.host.SetSysctl("net.netfilter.nf_conntrack_"+name, value))
	}
	begin := time.Now()
	for _, proto := range []inet.Proto{inet.UDP, inet.TCP} {
		p.forward(p.flow(proto, 1000, 80))
	}
	for _, proto := range []inet.Proto{conntrack.GRE, 99} {
		p.forward(p.flow(proto, 0, 0))
	}
	echo := inet.Packet{Proto: p.icmp(), Src: p.addr("CLIENT"), Dst: p.addr("SERVER"), ICMPType: p.icmp().EchoRequestType(), ICMPID: 3}
	p.forward(echo)
	p.exchange("client", inet.Packet{
		Proto: inet.SCTP, Src: echo.Src, Dst: echo.Dst, SrcPort: 1000, DstPort: 80, Chunks: []inet.SCTPChunk{{Type: inet.SCTPInit, InitTag: 1}},
	})
	answered := p.flow(inet.TCP, 1001, 80)
	p.forward(answered)
	answer := p.back(answered)
	answer.TCPFlags, answer.Numbers = inet.SYN|inet.ACK, &inet.TCPNumbers{Seq: 5000, Ack: 2, Window: 1000}
	p.exchange("server", answer)
	real, ours, first := p.watchExpiry(t)
	if first.Sub(begin) >= shortestTimeout {
		return false
	}
	require.Len(t, real, 7)
	require.Len(t, ours, len(real))
	for line, life := range real {
		require.Contains(t, ours, line)
		other := ours[line]
		assert.False(t, life.seen.After(other.gone.Add(settleTime)) || other.seen.After(life.gone.Add(settleTime)),
			"%s: the kernel's is gone after %s, ours after %s", line, life.seen, other.seen)
	}
	p.exchange("server", p.back(p.flow(inet.UDP, 1000, 80)))
	p.exchange("server", p.back(echo))
	return true
}

// lifetime is the end of an entry: between the last poll that saw it and the next one.
type lifetime struct{ seen, gone time.Time }

// watchExpiry polls both tables until they are empty. first is when the first poll had ended.
func (p *ctPlay) watchExpiry(t *testing.T) (real, ours map[string]lifetime, first time.Time) {
	real, ours = map[string]lifetime{}, map[string]lifetime{}
	poll := func(lives map[string]lifetime, list []conntrack.Entry, from time.Time) int {
		there := map[string]bool{}
		for _, e := range list {
			there[entryLine(e)] = true
			lives[entryLine(e)] = lifetime{seen: from}
		}
		for line, life := range lives {
			if !there[line] && life.gone.IsZero() {
				lives[line] = lifetime{life.seen, time.Now()}
			}
		}
		return len(list)
	}
	for deadline := time.Now().Add(10 * time.Second); ; p.lab.wait() {
		left := poll(real, p.lab.entries(p.family), time.Now())
		left += poll(ours, p.host.Conntrack(), time.Now())
		if first.IsZero() {
			first = time.Now()
		}
		if left == 0 {
			return real, ours, first
		}
		require.True(t, time.Now().Before(deadline), "%d entries are left", left)
	}
}
