//go:build linux

package probe

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"k8s.io/utils/clock"
	kexec "k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
)

const soon = 100 * time.Millisecond

func (w *world) dial(agent string, d Dial) Result {
	w.t.Helper()
	results, err := w.Dial(w.t.Context(), agent, d)
	require.NoError(w.t, err)
	require.Len(w.t, results, 1)
	return results[0]
}

// in is the same world for a subtest.
func (w *world) in(t *testing.T) *world {
	return &world{Client: w.Client, t: t, spaces: w.spaces}
}

// echoOf is ICMP in a family.
func echoOf(v6 bool) inet.Proto {
	if v6 {
		return inet.ICMPv6
	}
	return inet.ICMP
}

// TestKernelDial makes connections through a router, with and without translation, and has it refuse them in every way.
func TestKernelDial(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	for _, v6 := range []bool{false, true} {
		server, client, tool := address("s1", v6), address("client", v6), familyName(v6)
		at := func(proto inet.Proto) netip.AddrPort {
			if proto.IsICMP() {
				return netip.AddrPortFrom(server, 0)
			}
			return netip.AddrPortFrom(server, 8080)
		}
		protos := []inet.Proto{inet.TCP, inet.UDP, inet.SCTP, echoOf(v6)}
		var listeners []Listener
		for _, proto := range protos {
			listeners = append(listeners, listenerAt(proto, at(proto)))
		}
		require.NoError(t, w.Serve(ctx, "s1", listeners))
		for _, proto := range protos {
			t.Run(fmt.Sprintf("%s IPv6 %t", proto, v6), func(t *testing.T) {
				w := w.in(t)
				t.Cleanup(w.flush)
				for _, seen := range []netip.Addr{client, routerAddress("s1", v6)} {
					got := w.dial("client", Dial{Proto: proto, To: at(proto)})
					assert.Equal(t, Answered, got.End, got)
					assert.Equal(t, at(proto), got.At)
					came, err := w.Arrivals(ctx, "s1", Arrived{Token: got.Token, Wait: 5 * time.Second})
					require.NoError(t, err)
					require.Len(t, came, 1)
					assert.Equal(t, seen, came[0].Client.Addr())
					assert.Equal(t, at(proto), came[0].At)
					if !proto.IsICMP() {
						assert.Equal(t, "s1", got.Server)
						assert.Equal(t, came[0].Client, got.Client)
					}
					w.rules(tool, "-t nat -A POSTROUTING -j MASQUERADE")
				}
				w.flush()
				w.refusals(proto, at(proto), v6)
			})
		}
	}
}

// refusals has the router refuse or lose what the client sends, or what the server answers.
func (w *world) refusals(proto inet.Proto, to netip.AddrPort, v6 bool) {
	t, tool, client := w.t, familyName(v6), w.spaces["client"]
	words := []string{"icmp-port-unreachable", "icmp-host-unreachable", "icmp-admin-prohibited"}
	if v6 {
		words = []string{"icmp6-port-unreachable", "icmp6-addr-unreachable", "icmp6-adm-prohibited"}
	}
	for _, word := range words {
		w.rules(tool, "-A FORWARD -j REJECT --reject-with "+word)
		got := w.dial("client", Dial{Proto: proto, To: to})
		assert.Equal(t, Refused, got.End, word)
		assert.Equal(t, word, got.With)
		assert.Equal(t, routerAddress("client", v6), got.Offender)
		assert.Less(t, got.Took, time.Second, "it does not wait for more")
		w.flush()
	}
	if proto == inet.TCP {
		w.rules(tool, "-A FORWARD -p tcp -j REJECT --reject-with tcp-reset")
		got := w.dial("client", Dial{Proto: proto, To: to})
		assert.Equal(t, Result{End: Refused, With: "tcp-reset", From: got.From, Took: got.Took}, got)
		w.flush()
	}
	w.rules(tool, "-A FORWARD -j DROP")
	got := w.dial("client", Dial{Proto: proto, To: to, Timeout: soon})
	assert.Equal(t, Silent, got.End)
	if got.Token != "" { // a TCP connection that is not there asks nothing
		came, err := w.Arrivals(t.Context(), "s1", Arrived{Token: got.Token})
		require.NoError(t, err)
		assert.Empty(t, came)
	}
	w.flush()

	client.Must(tool + "-nft -A OUTPUT -d " + to.Addr().String() + " -j REJECT --reject-with " + words[0])
	got = w.dial("client", Dial{Proto: proto, To: to})
	assert.Equal(t, words[0], got.With, "the client's own rules: %s", got)
	client.Must(tool + "-nft -F OUTPUT")
}

// TestKernelErrorsOfOthers: each raw socket hears of the errors of all others, and every second question is refused.
func TestKernelErrorsOfOthers(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		proto inet.Proto
		first string // of the packets of a question
	}{{inet.ICMP, "-p icmp --icmp-type echo-request"}, {inet.SCTP, "-p sctp --chunk-types any INIT"}} {
		to := netip.AddrPortFrom(address("s1", false), 80)
		if c.proto == inet.ICMP {
			to = netip.AddrPortFrom(to.Addr(), 0)
		}
		require.NoError(t, w.Serve(t.Context(), "s1", []Listener{listenerAt(c.proto, to)}))
		w.rules("iptables", "-A FORWARD "+c.first+" -m statistic --mode nth --every 2 --packet 0 -j REJECT --reject-with icmp-admin-prohibited")
		const times = 64
		got, err := w.Dial(t.Context(), "client", Dial{Proto: c.proto, To: to, Times: times})
		require.NoError(t, err)
		ends := map[End]int{}
		for i := range got {
			ends[got[i].End]++
		}
		assert.Equal(t, map[End]int{Refused: times / 2, Answered: times / 2}, ends, c.proto)
		w.flush()
	}
}

// TestKernelAnswerThatIsLost: the server's agent still knows that it was asked.
func TestKernelAnswerThatIsLost(t *testing.T) {
	w := newWorld(t)
	to := netip.AddrPortFrom(address("s1", false), 53)
	require.NoError(t, w.Serve(t.Context(), "s1", []Listener{listenerAt(inet.UDP, to)}))
	w.rules("iptables", "-A FORWARD -s 10.2.0.2 -j DROP")
	got := w.dial("client", Dial{Proto: inet.UDP, To: to, Timeout: soon})
	assert.Equal(t, Silent, got.End)
	came, err := w.Arrivals(t.Context(), "s1", Arrived{Token: got.Token})
	require.NoError(t, err)
	require.Len(t, came, 1)
	assert.Equal(t, netip.AddrPortFrom(address("client", false), got.From.Port()), came[0].Client)
}

// TestKernelDialThatGoesNowhere: the client's own kernel knows that nothing comes of it.
func TestKernelDialThatGoesNowhere(t *testing.T) {
	w := newWorld(t)
	w.spaces["client"].Must("ip route del default")
	for _, proto := range []inet.Proto{inet.TCP, inet.UDP, inet.SCTP} {
		got := w.dial("client", Dial{Proto: proto, To: netip.AddrPortFrom(address("s1", false), 80)})
		assert.Equal(t, Failed, got.End, proto)
		assert.Contains(t, got.Why, "unreachable", proto)
	}
	got := w.dial("client", Dial{Proto: inet.TCP, From: netip.MustParseAddrPort("192.0.2.1:0"),
		To: netip.AddrPortFrom(routerAddress("client", false), 80)})
	assert.Equal(t, Failed, got.End)
	assert.Contains(t, got.Why, "192.0.2.1")
}

// TestKernelManyDials: chance has a part in where they come to, and a hundred are quick.
func TestKernelManyDials(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	for _, s := range []string{"s1", "s2"} {
		require.NoError(t, w.Serve(ctx, s, []Listener{
			listenerAt(inet.TCP, netip.AddrPortFrom(address(s, false), 8080)),
			listenerAt(inet.UDP, netip.AddrPortFrom(address(s, false), 8080)),
		}))
	}
	for _, proto := range []string{"tcp", "udp"} {
		w.rules("iptables",
			"-t nat -A PREROUTING -d 10.9.0.1 -p "+proto+" -m statistic --mode random --probability 0.5 -j DNAT --to 10.2.0.2:8080",
			"-t nat -A PREROUTING -d 10.9.0.1 -p "+proto+" -j DNAT --to-destination 10.3.0.2:8080")
	}
	for _, proto := range []inet.Proto{inet.TCP, inet.UDP} {
		start := time.Now()
		results, err := w.Dial(ctx, "client", Dial{Proto: proto, To: netip.MustParseAddrPort("10.9.0.1:80"), Times: 100})
		require.NoError(t, err)
		t.Logf("%s: 100 connections in %s", proto, time.Since(start))
		servers := map[string]int{}
		for _, r := range results {
			require.Equal(t, Answered, r.End, r)
			servers[r.Server]++
		}
		// Fewer than 20 of 100 with a chance of 1/2 come once in a thousand million times.
		assert.GreaterOrEqual(t, servers["s1"], 20)
		assert.GreaterOrEqual(t, servers["s2"], 20)
		assert.Len(t, servers, 2)
	}
}

// TestKernelDatagramsThatWait has hundreds of questions come while an agent reads none: none of them is lost.
func TestKernelDatagramsThatWait(t *testing.T) {
	const questions = 1000
	agent, err := NewAgent("server", clock.RealClock{})
	require.NoError(t, err)
	at := loopback(t, unix.SOCK_DGRAM, "127.0.0.1")
	closeIt, err := agent.listenUDP(at)
	require.NoError(t, err)
	defer closeIt()
	client, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(at))
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	agent.arrivals.mu.Lock() // the first question is not read to its end
	for i := range questions {
		_, err := client.Write(message{Question: strconv.Itoa(i)}.line())
		require.NoError(t, err)
	}
	agent.arrivals.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	last := strconv.Itoa(questions - 1)
	_ = agent.arrivals.find(ctx, 0, func(a *Arrival) bool { return a.Token == last })
	assert.Equal(t, questions, len(agent.arrivals.found(func(*Arrival) bool { return true })))
}

// fence gives an agent's host a packet and waits until that is seen there: what came before it by the same way was seen, too.
func (w *world) fence(agent, capture string, from Injection) {
	w.t.Helper()
	print, err := w.Inject(w.t.Context(), agent, from)
	require.NoError(w.t, err)
	seen, err := w.Captured(w.t.Context(), agent, Captured{Name: capture, Print: print, After: 1, Wait: 5 * time.Second})
	require.NoError(w.t, err)
	require.NotEmpty(w.t, seen)
}

// points are where a capture has seen a packet, of which so many are awaited.
func (w *world) points(agent, capture, print string, awaited int) []string {
	w.t.Helper()
	if awaited > 0 {
		_, err := w.Captured(w.t.Context(), agent, Captured{Name: capture, Print: print, After: awaited - 1, Wait: 5 * time.Second})
		require.NoError(w.t, err)
	}
	w.fence(agent, capture, Injection{Packet: "udp 127.0.0.1:4000 > 127.0.0.1:9 in lo", Number: 1 << 30})
	seen, err := w.Captured(w.t.Context(), agent, Captured{Name: capture, Print: print})
	require.NoError(w.t, err)
	var points []string
	for _, s := range seen {
		points = append(points, string(s.Point)+" "+s.Device)
	}
	slices.Sort(points)
	return points
}

// TestKernelForgets the connections of an address, and no other.
func TestKernelForgets(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.rules("iptables", "-A FORWARD -m conntrack --ctstate INVALID -j DROP") // connections are tracked where a rule asks
	w.rules("ip6tables", "-A FORWARD -m conntrack --ctstate INVALID -j DROP")
	for _, six := range []bool{false, true} {
		for number, server := range []string{"s1", "s2"} {
			to := netip.AddrPortFrom(address(server, six), 80)
			require.NoError(t, w.Serve(ctx, server, []Listener{listenerAt(inet.TCP, to)}))
			require.Equal(t, Answered, w.dial("client", Dial{Proto: inet.TCP, To: to, From: netip.AddrPortFrom(address("client", six),
				uint16(5000+number))}).End)
		}
	}
	known := func() (ports []uint16) {
		w.spaces["router"].Do(func() {
			node, err := snapshot.Take(ctx, kexec.New())
			require.NoError(t, err)
			for i := range node.Conntrack {
				if c := &node.Conntrack[i]; c.Original.Proto == inet.TCP {
					ports = append(ports, c.Original.SrcPort)
				}
			}
		})
		return ports
	}
	require.Equal(t, []uint16{5000, 5001, 5000, 5001}, known())
	w.spaces["router"].Do(func() {
		require.NoError(t, forget([]netip.Addr{address("s1", false), address("s1", true), netip.MustParseAddr("192.0.2.1")}))
	})
	assert.Equal(t, []uint16{5001, 5001}, known())
}

// TestKernelLoadThatIsStoppedAtOnce: a connection whose first packet is lost is no silent one because nobody asks any more.
func TestKernelLoadThatIsStoppedAtOnce(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	to := netip.AddrPortFrom(address("s1", false), 80)
	require.NoError(t, w.Serve(ctx, "s1", []Listener{listenerAt(inet.TCP, to)}))
	w.rules("iptables", "-A FORWARD -p tcp --dport 80 -j DROP")
	require.NoError(t, w.Capture(ctx, "router", "c"))
	require.NoError(t, w.StartLoad(ctx, "client", Load{Name: "l", Kind: Lasting, Proto: inet.TCP, To: to, Every: time.Millisecond}))
	_, err := w.Captured(ctx, "router", Captured{Name: "c", Wait: 5 * time.Second})
	require.NoError(t, err)
	w.flush()
	asked, err := w.StopLoad(ctx, "client", "l")
	require.NoError(t, err)
	for i := range asked {
		assert.Equal(t, Answered, asked[i].End)
	}
}

// TestKernelDropSaysNothing: neither end hears of it.
func TestKernelDropSaysNothing(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	to := netip.AddrPortFrom(address("s1", false), 80)
	require.NoError(t, w.Serve(ctx, "s1", []Listener{listenerAt(inet.TCP, to)}))
	require.Equal(t, Answered, w.dial("client", Dial{Proto: inet.TCP, To: to, Keep: "old"}).End)
	require.NoError(t, w.Capture(ctx, "router", "c"))
	require.NoError(t, w.Drop(ctx, "client", "old", scenarios.SideClient))
	require.NoError(t, w.Reset(ctx, "s1"))
	print, err := w.Inject(ctx, "router", Injection{Packet: "udp 10.2.0.1:1 > 10.2.0.2:1 local", Number: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"out to-s1"}, w.points("router", "c", print, 1), "the last packet of all")
	seen, err := w.Captured(ctx, "router", Captured{Name: "c"})
	require.NoError(t, err)
	for _, s := range seen {
		assert.NotContains(t, s.Packet, "tcp ")
	}
}

// TestKernelChange gives hosts addresses and routes, and takes them.
func TestKernelChange(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	for _, text := range []string{"10.7.0.9/32", "fd00:7::9/128"} {
		extra := netip.MustParsePrefix(text)
		via := netip.MustParseAddr("10.2.0.2")
		if extra.Addr().Is6() {
			via = netip.MustParseAddr("fd00:2::2")
		}
		to := netip.AddrPortFrom(extra.Addr(), 80)
		add := []Change{{Action: AddAddress, Device: "eth0", Prefix: extra}}
		require.ErrorContains(t, w.Serve(ctx, "s1", []Listener{listenerAt(inet.TCP, to)}), extra.Addr().String())
		require.NoError(t, w.Change(ctx, "s1", add))
		require.NoError(t, w.Change(ctx, "s1", add), "it is there already")
		route := Change{Device: "to-s1", Prefix: extra, Via: via}
		route.Action = AddRoute
		require.NoError(t, w.Change(ctx, "router", []Change{route, route}))
		require.NoError(t, w.Serve(ctx, "s1", []Listener{listenerAt(inet.TCP, to)}))
		assert.Equal(t, to, w.dial("client", Dial{Proto: inet.TCP, To: to}).At)
		devices, err := w.Devices(ctx, "s1")
		require.NoError(t, err)
		has := func(d Device) bool {
			return d.Name == "eth0" && d.Up && len(d.Hardware) == 6 && slices.Contains(d.Addresses, extra)
		}
		assert.True(t, slices.ContainsFunc(devices, has), "%+v", devices)
		remove := []Change{{Action: RemoveAddress, Device: "eth0", Prefix: extra}}
		require.NoError(t, w.Change(ctx, "s1", remove))
		require.NoError(t, w.Change(ctx, "s1", remove), "it is gone already")
		route.Action = RemoveRoute
		require.NoError(t, w.Change(ctx, "router", []Change{route, route}))
		assert.NotEqual(t, Answered, w.dial("client", Dial{Proto: inet.TCP, To: to, Timeout: soon}).End)
	}
	require.NoError(t, w.Change(ctx, "s1", []Change{{Action: LinkDown, Device: "eth0"}}))
	got := w.dial("client", Dial{Proto: inet.UDP, To: netip.AddrPortFrom(address("s1", false), 80), Timeout: soon})
	assert.NotEqual(t, "s1", got.Server)
	require.ErrorContains(t, w.Change(ctx, "s1", []Change{{Action: LinkUp, Device: "eth9"}}), "linkUp eth9")
	require.ErrorContains(t, w.Change(ctx, "s1", []Change{{Action: "polish", Device: "eth0"}}), "polish eth0")
}

// TestKernelSnapshot: the relay takes that of the machine that it runs on.
func TestKernelSnapshot(t *testing.T) {
	w := newWorld(t)
	node, err := w.Snapshot(t.Context())
	require.NoError(t, err)
	assert.NotEmpty(t, node.Devices)
	assert.NotZero(t, node.Taken)
}

// TestKernelFirstPacketThatIsLost: TCP's kernel sends it again, which is no answer to the first one.
func TestKernelFirstPacketThatIsLost(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		w := newWorld(t)
		to := netip.AddrPortFrom(address("s1", v6), 80)
		require.NoError(t, w.Serve(t.Context(), "s1", []Listener{listenerAt(inet.TCP, to)}))
		tool := "iptables"
		if v6 {
			tool = "ip6tables"
		}
		w.rules(tool, "-A FORWARD -p tcp -m tcp --syn -m statistic --mode nth --every 2 --packet 0 -j DROP")
		assert.Equal(t, Silent, w.dial("client", Dial{Proto: inet.TCP, To: to, First: true}).End)
		assert.Equal(t, Answered, w.dial("client", Dial{Proto: inet.TCP, To: to}).End, "whoever takes the second one, too")
	}
}

// TestKernelAnswerThatIsSlow: the first packet waits until the server's neighbour knows its hardware address, and is sent again
// meanwhile. It is answered all the same.
func TestKernelAnswerThatIsSlow(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	from, to := netip.AddrPortFrom(address("client", false), 40000), netip.AddrPortFrom(address("s1", false), 80)
	require.NoError(t, w.Serve(ctx, "s1", []Listener{listenerAt(inet.TCP, to)}))
	w.spaces["s1"].Must("ip link set eth0 arp off")
	w.spaces["router"].Must("ip neigh flush dev to-s1")
	require.NoError(t, w.Capture(ctx, "router", "c"))
	ended := make(chan Result)
	go func() { ended <- w.dial("client", Dial{Proto: inet.TCP, From: from, To: to, First: true}) }()
	seen, err := w.Captured(ctx, "router", Captured{Name: "c", Like: fmt.Sprintf("tcp %s > %s", from, to), After: 1, Wait: 5 * time.Second})
	require.NoError(t, err)
	require.Len(t, seen, 1, "the second packet")
	w.spaces["s1"].Must("ip link set eth0 arp on")
	got := <-ended
	assert.Equal(t, Answered, got.End)
	assert.Greater(t, got.Took, repeats)
}
