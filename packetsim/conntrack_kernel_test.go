//go:build linux

package packetsim

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// ctTimeouts are the node's timeouts: no two are so near that a second more or less hides which one it is.
var ctTimeouts = map[string]string{
	"tcp_timeout_syn_sent": "110", "tcp_timeout_syn_recv": "60", "tcp_timeout_established": "4000", "tcp_timeout_fin_wait": "130",
	"tcp_timeout_close_wait": "70", "tcp_timeout_last_ack": "30", "tcp_timeout_time_wait": "120", "tcp_timeout_close": "10",
	"tcp_timeout_max_retrans": "310", "tcp_timeout_unacknowledged": "200", "udp_timeout": "40", "udp_timeout_stream": "140",
	"icmp_timeout":   "50",
	"icmpv6_timeout": "55", "generic_timeout": "600", "gre_timeout": "45", "gre_timeout_stream": "180",
	"sctp_timeout_closed": "10", "sctp_timeout_cookie_wait": "20", "sctp_timeout_cookie_echoed": "30", "sctp_timeout_established": "210",
	"sctp_timeout_shutdown_sent": "80", "sctp_timeout_shutdown_recd": "90", "sctp_timeout_shutdown_ack_sent": "100",
	"sctp_timeout_heartbeat_sent": "65",
}

// ctSwitches are what a group leaves alone: the namespace keeps what the group before it has drawn.
var ctSwitches = map[string]string{"tcp_be_liberal": "0", "tcp_loose": "1", "tcp_ignore_invalid_rst": "0", "tcp_max_retrans": "3"}

// ctFilter counts the states that packets have.
const ctFilter = `*filter
:INPUT DROP [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A FORWARD -m conntrack --ctstate INVALID
-A FORWARD -m conntrack --ctstate NEW
-A FORWARD -m conntrack --ctstate RELATED
-A FORWARD -m conntrack --ctstate ESTABLISHED
-A FORWARD -m conntrack --ctstate UNTRACKED
-A FORWARD -m conntrack --ctstate SNAT
-A FORWARD -m conntrack --ctstate DNAT
COMMIT
`

// ctGroup is a ruleset with the packets that are sent through it. VIP, POOL... stand for addresses of the family.
type ctGroup struct {
	name  string
	rules string
	play  func(*rapid.T, *ctPlay)
	names map[string][]string // sysctls and the values to draw from
}

var ctGroups = []ctGroup{
	{name: "tcp", rules: ctFilter, play: playTCP, names: map[string][]string{
		"tcp_be_liberal": {"0", "0", "0", "1"}, "tcp_loose": {"1", "1", "0"}, "tcp_ignore_invalid_rst": {"0", "1"}, "tcp_max_retrans": {"3", "1"},
	}},
	{name: "udp and icmp", rules: ctFilter, play: playDatagrams},
	{name: "sctp", rules: ctFilter, play: playSCTP},
	{name: "services", play: playMixed, rules: ctFilter + `*nat
-A PREROUTING -d VIP1 -p tcp -j DNAT --to-destination SERVER:8080
-A PREROUTING -d VIP1 -p udp -j DNAT --to-destination SERVER:8080
-A PREROUTING -d VIP2 -j DNAT --to-destination SERVER
-A POSTROUTING -j MASQUERADE
COMMIT
`},
	{name: "one source address", play: playMixed, rules: ctFilter + `*nat
-A PREROUTING -d VIP1 -j DNAT --to-destination SERVER
-A POSTROUTING -j SNAT --to-source POOL1
COMMIT
`},
	{name: "source ports", play: playMixed, rules: ctFilter + `*nat
-A PREROUTING -d VIP1 -p tcp -j DNAT --to-destination SERVER:8080
-A PREROUTING -d VIP2 -p udp -j DNAT --to-destination SERVER
-A POSTROUTING -p tcp -j SNAT --to-source POOL1:5000-5002
-A POSTROUTING -p udp -j MASQUERADE --to-ports 300-301
COMMIT
`},
	{name: "random ports", play: playMixed, rules: ctFilter + `*nat
-A PREROUTING -d VIP1 -j DNAT --to-destination SERVER
-A POSTROUTING -p tcp -j SNAT --to-source POOL1 --random
-A POSTROUTING -p udp -j MASQUERADE --random-fully
COMMIT
`},
	{name: "address ranges", play: playMixed, rules: ctFilter + `*nat
-A PREROUTING -d VIP1 -j DNAT --to-destination POOL1-POOL9
-A PREROUTING -d VIP2 -j DNAT --to-destination POOL1-POOL9 --persistent
-A POSTROUTING -p tcp -j SNAT --to-source POOL1-POOL9
-A POSTROUTING -p udp -j SNAT --to-source POOL1-POOL9 --persistent
COMMIT
`},
	{name: "destination ports", play: playMixed, rules: ctFilter + `*nat
-A PREROUTING -d VIP1 -p tcp -j DNAT --to-destination SERVER:8080-8082
-A PREROUTING -d VIP1 -p udp -j DNAT --to-destination SERVER:9000-9100/80
-A PREROUTING -d VIP2 -p tcp -j DNAT --to-destination :8080-8081
COMMIT
`},
	{name: "zones", play: playMixed, rules: ctFilter + `*raw
-A PREROUTING -p udp -m udp --dport 80 -j CT --zone 3
-A PREROUTING -i cts -p udp -m udp --sport 80 -j CT --zone 3
-A PREROUTING -p tcp -m tcp --dport 80 -j CT --zone-orig 4
-A PREROUTING -p tcp -m tcp --dport 8080 -j CT --zone-reply 5
-A PREROUTING -i cts -p tcp -m tcp --sport 8080 -j CT --zone-reply 5
COMMIT
*nat
-A PREROUTING -d VIP1 -j DNAT --to-destination SERVER
-A POSTROUTING -j SNAT --to-source POOL1-POOL9
COMMIT
`},
	{name: "zones of one direction", play: playMixed, rules: ctFilter + `*raw
-A PREROUTING -p udp -m udp --sport 1000:65535 -j CT --zone-reply 1
-A PREROUTING -p udp -m udp --sport 300 -j CT --zone-orig 1
-A PREROUTING -p tcp -m tcp --sport 1000:65535 -j CT --zone-reply 2
-A PREROUTING -p tcp -m tcp --dport 1000:65535 -j CT --zone-orig 2
-A PREROUTING -p tcp -m tcp --sport 700 -j CT --zone 2
COMMIT
*nat
-A PREROUTING -d VIP1 -j DNAT --to-destination SERVER
-A POSTROUTING -p udp -s CLIENT -j SNAT --to-source POOL1
COMMIT
`},
	{name: "mapped networks", play: playMixed, rules: ctFilter + `*nat
-A PREROUTING -d VIP1 -j NETMAP --to SERVER
-A POSTROUTING -s CLIENT -j NETMAP --to POOL1
COMMIT
`},
	{name: "null bindings", play: playMixed, rules: ctFilter + `*nat
-A PREROUTING -d VIP1 -p tcp -j DNAT --to-destination SERVER
-A PREROUTING -d VIP1 -p udp -j DNAT --to-destination SERVER
-A PREROUTING -d VIP1 -j DNAT --to-destination SERVER
-A PREROUTING -d VIP2 -j DNAT --to-destination SERVER
COMMIT
`},
}

// ctAddresses are the words in rules, and where packets go, by family.
var ctAddresses = map[netfilter.Family]map[string]string{
	netfilter.IPv4: {"VIP1": "10.99.0.1", "VIP2": "10.99.0.2", "SERVER": "10.78.2.2", "POOL1": "10.79.0.1", "POOL9": "10.79.0.9",
		"CLIENT": "10.78.1.2"},
	netfilter.IPv6: {"VIP1": "fd99::1", "VIP2": "fd99::2", "SERVER": "fd78:2::2", "POOL1": "fd79::1", "POOL9": "fd79:0:0:3::9",
		"CLIENT": "fd78:1::2"},
}

// ctRules are the rules for a family: an IPv6 address with a port takes brackets.
func ctRules(family netfilter.Family, rules string) string {
	for word, addr := range ctAddresses[family] {
		if family == netfilter.IPv6 {
			rules = strings.ReplaceAll(rules, word+":", "["+addr+"]:")
		}
		rules = strings.ReplaceAll(rules, word, addr)
	}
	return rules
}

func needKernel(t testing.TB, tools ...string) {
	t.Helper()
	kerneltest.Need(t, append(tools, "ip", "sysctl")...)
}

// TestConntrackAsKernel sends random packets through the node and through a Host, and compares after each packet what came out of
// the node and every entry of its table. It ends with the first group that disagrees.
func TestConntrackAsKernel(t *testing.T) {
	boundShrinking(t)
	needKernel(t, "iptables-legacy-restore", "ip6tables-legacy-restore", "iptables-legacy-save", "ip6tables-legacy-save")
	machineConntrack(t, "buckets", quickTable)
	lab := newCTLab(t)
	packets := 0
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		for _, group := range ctGroups {
			agreed := t.Run(fmt.Sprintf("IPv%d %s", family, group.name), func(t *testing.T) {
				packets += lab.in(t).compareGroup(t, family, group)
			})
			if !agreed {
				return
			}
		}
	}
	t.Logf("%d packets compared", packets)
}

// quickTable is a number of places that the kernel lists in no time: it goes through all of them for each list of entries.
const quickTable = 4096

// boundShrinking lets a failing test end soon: each sequence that still disagrees costs settleTime. A time that was asked for stays.
func boundShrinking(t *testing.T) {
	bound := flag.Lookup("rapid.shrinktime")
	if given := bound.Value.String(); given == bound.DefValue {
		require.NoError(t, bound.Value.Set("20s"))
		t.Cleanup(func() { require.NoError(t, bound.Value.Set(given)) })
	}
}

// compareGroup compares random sequences and says how many packets were sent.
func (lab *ctLab) compareGroup(t *testing.T, family netfilter.Family, group ctGroup) (packets int) {
	rules := ctRules(family, group.rules)
	lab.restore(family, rules)
	kernel := restored(t, family, emptyRules+rules)
	var real, ours map[string]int // counts before a play; a play that fails leaves none
	sysctls := lab.conntrackSysctls()
	rapid.Check(t, func(rt *rapid.T) {
		for _, name := range slices.Sorted(keysOf(group.names)) {
			lab.conntrackSysctl(sysctls, name, rapid.SampledFrom(group.names[name]).Draw(rt, name))
		}
		lab.flush()
		play := &ctPlay{lab: lab, rt: rt, fatalf: rt.Fatalf, family: family, host: lab.twin(kernel, sysctls),
			learned: map[conntrack.Tuple]conntrack.Tuple{}}
		if real == nil {
			real, ours = lab.counted(family), countedRules(savedCounters(t, play.host, family == netfilter.IPv6))
		}
		realBefore, oursBefore := real, ours
		real, ours = nil, nil
		group.play(rt, play)
		packets += play.sent
		realNow, oursNow := lab.counted(family), countedRules(savedCounters(t, play.host, family == netfilter.IPv6))
		require.Equal(rt, since(realNow, realBefore), since(oursNow, oursBefore), "packets that the rules counted")
		real, ours = realNow, oursNow
	})
	return packets
}

func keysOf(m map[string][]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// conntrackSysctls sets the timeouts and switches of the node, and gives them for its twin.
func (lab *ctLab) conntrackSysctls() map[string]string {
	sysctls := map[string]string{}
	for _, values := range []map[string]string{ctTimeouts, ctSwitches} {
		for name, value := range values {
			lab.conntrackSysctl(sysctls, name, value)
		}
	}
	return sysctls
}

func (lab *ctLab) conntrackSysctl(sysctls map[string]string, name, value string) {
	sysctls["net.netfilter.nf_conntrack_"+name] = value
	require.NoError(lab.t, os.WriteFile("/proc/sys/net/netfilter/nf_conntrack_"+name, []byte(value), 0o644))
}

// ctPlay is one sequence of packets.
type ctPlay struct {
	lab    *ctLab
	rt     *rapid.T // of random plays
	fatalf func(format string, args ...any)
	family netfilter.Family
	host   *Host
	sent   int
	late   time.Duration // the longest time that we were behind the kernel
	// learned is what the server saw of each client's flow.
	learned map[conntrack.Tuple]conntrack.Tuple
}

// addr is the address of a word.
func (p *ctPlay) addr(word string) netip.Addr {
	return netip.MustParseAddr(ctAddresses[p.family][word])
}

// exchange sends a packet both ways and compares. It gives what came to the places.
func (p *ctPlay) exchange(place string, packet inet.Packet) map[string][]inet.Packet {
	p.sent++
	p.lab.send(place, packet)
	in := inet.Input{Packet: packet, In: p.lab.ports[place].device}
	got := map[string][]inet.Packet{}
	begun := time.Now()
	for looks := 1; ; looks++ {
		for place := range p.lab.ports {
			got[place] = append(got[place], p.lab.captured(place, p.family)...)
		}
		real := p.lab.entries(p.family)
		p.late = max(p.late, time.Since(begun))
		why := p.match(in, got, real)
		if why == "" {
			return got
		}
		if time.Since(begun) > settleTime && looks >= settleLooks {
			p.fatalf("packet %d, from %s: %s %s %+v %v: %s", p.sent, place, packetText(packet), packet.TCPFlags, packet.Numbers, packet.Chunks, why)
		}
		p.lab.wait()
	}
}

// wait lets the kernel do something, for a little while at most.
func (lab *ctLab) wait() {
	var fds []unix.PollFd
	for _, port := range lab.ports {
		fds = append(fds, unix.PollFd{Fd: int32(port.fd), Events: unix.POLLIN})
	}
	_, _ = unix.Poll(fds, 5)
}

// portChance begins the search for a port at a place that is given.
type portChance struct{ offset uint32 }

func (c portChance) Draw(uint32) bool     { return false }
func (c portChance) Number(uint32) uint32 { return c.offset }

// match walks the packet and keeps the walk if it agrees with the kernel. Where the kernel chose a port, ours is the same one if our range
// has it.
func (p *ctPlay) match(in inet.Input, got map[string][]inet.Packet, real []conntrack.Entry) (why string) {
	offsets := []uint32{0}
	mayBe := func(chosen uint16) {
		for _, low := range lowestPorts(&in.Packet) {
			offsets = append(offsets, uint32(chosen)-low)
		}
	}
	for _, captured := range got {
		for _, packet := range captured {
			mayBe(packet.SrcPort | packet.ICMPID)
		}
	}
	for _, entry := range real {
		if entry.Original == conntrack.TupleOf(&in.Packet) { // the id that is chosen for some queries is not written into them
			mayBe(entry.Reply.ICMPID)
		}
	}
	for _, offset := range offsets {
		mark := p.host.checkpoint()
		o, err := p.host.Step(in, portChance{offset & 0xffff})
		if err != nil {
			p.host.rollback(mark)
			return err.Error()
		}
		differs := compareEntries(real, p.host.Conntrack(), p.late)
		if differs == "" {
			differs = p.compareArrivals(got, p.lab.arrivals(&o))
		}
		if differs == "" {
			p.host.keep()
			return ""
		}
		p.host.rollback(mark)
		if why == "" {
			why = fmt.Sprintf("%s (%s %s %s)", differs, o.Verdict, o.To, o.Why)
		}
	}
	return why
}

// lowestPorts is where the ranges begin that the packet's source port may be chosen from: that of its class, and those in the rules.
func lowestPorts(p *inet.Packet) []uint32 {
	switch {
	case p.Proto.IsICMP():
		return []uint32{0}
	case p.SrcPort < 512:
		return []uint32{1, 300, 5000}
	case p.SrcPort < 1024:
		return []uint32{600, 300, 5000}
	}
	return []uint32{1024, 300, 5000}
}

func (p *ctPlay) compareArrivals(got map[string][]inet.Packet, want map[string][]string) string {
	for place := range p.lab.ports {
		var texts []string
		for _, packet := range got[place] {
			texts = append(texts, packetText(packet))
		}
		slices.Sort(texts)
		if !slices.Equal(texts, want[place]) {
			return fmt.Sprintf("%s got %q, we say %q", place, texts, want[place])
		}
	}
	return ""
}

// forward sends a packet of a client and learns how the server sees it.
func (p *ctPlay) forward(packet inet.Packet) {
	for _, seen := range p.exchange("client", packet)["server"] {
		if seen.Proto == packet.Proto {
			p.learned[conntrack.TupleOf(&packet)] = conntrack.TupleOf(&seen)
		}
	}
}

// back is a packet of the server in answer to those of the client's flow; without one that came, as if it were not translated.
func (p *ctPlay) back(packet inet.Packet) inet.Packet {
	seen, ok := p.learned[conntrack.TupleOf(&packet)]
	if !ok {
		seen = conntrack.TupleOf(&packet)
	}
	packet.Src, packet.Dst, packet.SrcPort, packet.DstPort = seen.Dst, seen.Src, seen.DstPort, seen.SrcPort
	packet.ICMPID = seen.ICMPID
	if packet.Proto.IsICMP() {
		if answer, ok := conntrack.ICMPAnswer(packet.Proto, packet.ICMPType); ok {
			packet.ICMPType = answer
		}
	}
	return packet
}
