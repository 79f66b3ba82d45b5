//go:build linux

package probe

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// TestKernelPacketOutOfTheWindow arrives, unless conntrack has it dropped.
func TestKernelPacketOutOfTheWindow(t *testing.T) {
	for _, dropped := range []bool{false, true} {
		t.Run(fmt.Sprintf("dropped %t", dropped), func(t *testing.T) {
			w := newWorld(t)
			ctx := t.Context()
			to := netip.AddrPortFrom(address("s1", false), 80)
			require.NoError(t, w.Serve(ctx, "s1", []Listener{listenerAt(inet.TCP, to)}))
			if dropped {
				w.rules("iptables", "-A FORWARD -m conntrack --ctstate INVALID -j DROP")
			}
			require.NoError(t, w.Capture(ctx, "s1", "c"))
			require.Equal(t, Answered, w.dial("client", Dial{Proto: inet.TCP, To: to, Keep: "old"}).End)
			sent, err := w.Speak(ctx, "client", Speech{Conn: "old", Side: scenarios.SideClient, Kind: scenarios.PacketOutOfWindow})
			require.NoError(t, err)
			require.Equal(t, Sent, sent.End)
			want := []string{"in eth0", "local "}
			if dropped {
				want = nil
			}
			assert.Equal(t, want, w.points("s1", "c", sent.Token, len(want)))
			later, err := w.Speak(ctx, "client", Speech{Conn: "old", Side: scenarios.SideClient, Kind: scenarios.PacketData})
			require.NoError(t, err)
			assert.Equal(t, Answered, later.End, "the connection goes on")
		})
	}
}

// TestKernelInject gives single packets to the router and sees what it does with them.
func TestKernelInject(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	// So that the neighbours are known.
	w.dial("client", Dial{Proto: inet.ICMP, To: netip.AddrPortFrom(address("s1", false), 0)})
	w.dial("client", Dial{Proto: inet.ICMPv6, To: netip.AddrPortFrom(address("s1", true), 0)})
	w.rules("iptables", "-t nat -A PREROUTING -d 10.9.0.1 -p tcp -j DNAT --to-destination 10.2.0.2:8080",
		"-A FORWARD -p udp --dport 81 -j REJECT",
		"-A FORWARD -p tcp --dport 81 -j REJECT --reject-with tcp-reset", "-A INPUT -p udp --dport 82 -j DROP",
		"-A OUTPUT -p udp --dport 83 -j REJECT", "-A FORWARD -m mark --mark 7 -j DROP", "-A OUTPUT -m mark --mark 7 -j DROP")
	require.NoError(t, w.Capture(ctx, "router", "c"))
	for number, row := range []struct {
		name, agent, packet string
		points              []string
		leaves              string // as what it leaves
		with                string // what refuses it
	}{
		{name: "forwarded", agent: "client", packet: "udp 10.1.0.2:4000 > 10.2.0.2:53 in eth0",
			points: []string{"in to-client", "out to-s1"}, leaves: "udp 10.1.0.2:4000 > 10.2.0.2:53 local"},
		{name: "forwarded, IPv6", agent: "client", packet: "udp [fd00:1::2]:4000 > [fd00:2::2]:53 in eth0",
			points: []string{"in to-client", "out to-s1"}, leaves: "udp [fd00:1::2]:4000 > [fd00:2::2]:53 local"},
		{name: "translated", agent: "client", packet: "tcp 10.1.0.2:4000 > 10.9.0.1:80 in eth0",
			points: []string{"in to-client", "out to-s1"}, leaves: "tcp 10.1.0.2:4000 > 10.2.0.2:8080 local"},
		{name: "to the router", agent: "client", packet: "udp 10.1.0.2:4000 > 10.1.0.1:53 in eth0", points: []string{"in to-client", "local "},
			with: "icmp-port-unreachable"},
		{name: "to the router, IPv6", agent: "client", packet: "tcp [fd00:1::2]:4000 > [fd00:1::1]:53 in eth0", with: "tcp-reset",
			points: []string{"in to-client", "local "}},
		{name: "to the router, dropped", agent: "client", packet: "udp 10.1.0.2:4000 > 10.1.0.1:82 in eth0", points: []string{"in to-client"}},
		{name: "rejected", agent: "client", packet: "udp 10.1.0.2:4000 > 10.2.0.2:81 in eth0", points: []string{"in to-client"},
			with: "icmp-port-unreachable"},
		{name: "reset", agent: "client", packet: "tcp 10.1.0.2:4000 > 10.2.0.2:81 in eth0", points: []string{"in to-client"}, with: "tcp-reset"},
		{name: "a martian", agent: "client", packet: "udp 10.1.0.2:4000 > 127.0.0.1:53 in eth0", points: []string{"in to-client"}},
		{name: "of the router itself", agent: "router", packet: "udp 10.2.0.1:4000 > 10.2.0.2:53 local", points: []string{"out to-s1"},
			leaves: "udp 10.2.0.1:4000 > 10.2.0.2:53 local"},
		{name: "of the router itself, rejected", agent: "router", packet: "udp 10.2.0.1:4000 > 10.2.0.2:83 local",
			with: "icmp-port-unreachable"},
		{name: "of the router itself, marked", agent: "router", packet: "udp 10.2.0.1:4000 > 10.2.0.2:53 local mark 7"},
		{name: "on the router's loopback", agent: "router", packet: "udp 127.0.0.1:4000 > 127.0.0.1:82 in lo",
			points: []string{"in lo", "out lo"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := w.in(t)
			print, err := w.Inject(ctx, row.agent, Injection{Packet: row.packet, Number: uint32(number + 1)})
			require.NoError(t, err)
			assert.Equal(t, row.points, w.points("router", "c", print, len(row.points)))
			wait := 5 * time.Second
			if row.with == "" {
				wait = 0
			}
			_, err = w.Captured(ctx, "router", Captured{Name: "c", Refusing: row.packet, Wait: wait})
			require.NoError(t, err)
			seen, err := w.Captured(ctx, "router", Captured{Name: "c", Print: print, Refusing: row.packet})
			require.NoError(t, err)
			with := ""
			for _, s := range seen {
				switch {
				case s.Answer && s.Behind: // s1 refuses
				case s.Answer:
					with = s.With
				case s.Point == Out && s.Device != "lo":
					assert.Equal(t, row.leaves, s.Packet)
				}
			}
			assert.Equal(t, row.with, with)
		})
		require.NoError(t, w.Release(ctx, "router", "c"))
		require.NoError(t, w.Capture(ctx, "router", "c"))
	}
}

// TestKernelCaptureAfterAnother sees what comes in its own time, though it has the sockets of the one before.
func TestKernelCaptureAfterAnother(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	send := func(port int) string {
		print, err := w.Inject(ctx, "router", Injection{Packet: fmt.Sprintf("udp 10.2.0.1:%d > 10.2.0.2:1 local", port), Number: uint32(port)})
		require.NoError(t, err)
		return print
	}
	var before string
	for port := range 3 {
		require.NoError(t, w.Capture(ctx, "router", "c"))
		print := send(port + 1)
		require.Equal(t, []string{"out to-s1"}, w.points("router", "c", print, 1))
		seen, err := w.Captured(ctx, "router", Captured{Name: "c"})
		require.NoError(t, err)
		for _, s := range seen {
			assert.NotEqual(t, before, s.Print, "sent while nobody looked")
		}
		require.NoError(t, w.Release(ctx, "router", "c"))
		before = send(port + 101)
	}
}
