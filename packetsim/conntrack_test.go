package packetsim

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// stateRules show a packet's state by the number of the rule that it matches.
const stateRules = `*raw
:PREROUTING ACCEPT [0:0]
-A PREROUTING -p udp -m udp --dport 999 -j NOTRACK
COMMIT
*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:STATE - [0:0]
-A INPUT -j STATE
-A FORWARD -j STATE
-A STATE -m conntrack --ctstate NEW -j RETURN
-A STATE -m conntrack --ctstate ESTABLISHED -j RETURN
-A STATE -m conntrack --ctstate RELATED -j RETURN
-A STATE -m conntrack --ctstate INVALID -j RETURN
-A STATE -m conntrack --ctstate UNTRACKED -j RETURN
COMMIT
`

var stateOfRule = map[int]string{1: "NEW", 2: "ESTABLISHED", 3: "RELATED", 4: "INVALID", 5: "UNTRACKED"}

// stateOf is the state that the rules saw.
func stateOf(o Outcome) string {
	for _, s := range o.Steps {
		if s.Chain == "STATE" {
			return stateOfRule[s.Number]
		}
	}
	return "none"
}

// entryText is the host's only entry in few words, or "none".
func entryText(t *testing.T, h *Host) string {
	t.Helper()
	entries := h.Conntrack()
	if len(entries) == 0 {
		return "none"
	}
	require.Len(t, entries, 1)
	e := entries[0]
	text := fmt.Sprintf("%s %d", e.State, e.Timeout)
	if e.State == "" {
		text = fmt.Sprint(e.Timeout)
	}
	if !e.Replied {
		text += " UNREPLIED"
	}
	if e.Assured {
		text += " ASSURED"
	}
	return text
}

const (
	there = "10.244.0.11:1000 > 10.244.0.12:80 in veth1 "
	back  = "10.244.0.12:80 > 10.244.0.11:1000 in veth2 "
)

// life is a packet, after a wait, and what is known after it.
type life struct {
	wait         time.Duration
	packet       string
	state, entry string
}

// conntrackLives are conversations and what conntrack knows after each packet of them.
var conntrackLives = []struct {
	name    string
	sysctls map[string]string
	life    []life
}{
	{"tcp from handshake to end", nil, []life{
		{0, "tcp " + there + "flags SYN", "NEW", "SYN_SENT 120 UNREPLIED"},
		{50 * time.Second, "tcp " + there + "flags SYN", "NEW", "SYN_SENT 70 UNREPLIED"},
		{0, "tcp " + back + "flags SYN,ACK", "ESTABLISHED", "SYN_RECV 60"},
		{0, "tcp " + there + "flags ACK", "ESTABLISHED", "ESTABLISHED 432000 ASSURED"},
		{0, "tcp " + there + "flags FIN,ACK", "ESTABLISHED", "FIN_WAIT 120 ASSURED"},
		{0, "tcp " + back + "flags ACK", "ESTABLISHED", "CLOSE_WAIT 60 ASSURED"},
		{0, "tcp " + back + "flags FIN,ACK", "ESTABLISHED", "LAST_ACK 30 ASSURED"},
		{0, "tcp " + there + "flags ACK", "ESTABLISHED", "TIME_WAIT 120 ASSURED"},
		{0, "tcp " + there + "flags SYN", "NEW", "SYN_SENT 120 UNREPLIED"},
		{121 * time.Second, "tcp " + back + "flags SYN,ACK", "INVALID", "none"},
	}},
	{"tcp refused", nil, []life{
		{0, "tcp " + there + "flags SYN", "NEW", "SYN_SENT 120 UNREPLIED"},
		{0, "tcp " + back + "flags RST,ACK", "ESTABLISHED", "none"},
		{0, "tcp " + there + "flags SYN", "NEW", "SYN_SENT 120 UNREPLIED"},
	}},
	{"tcp reset", nil, []life{
		{0, "tcp " + there + "flags SYN", "NEW", "SYN_SENT 120 UNREPLIED"},
		{0, "tcp " + back + "flags SYN,ACK", "ESTABLISHED", "SYN_RECV 60"},
		{0, "tcp " + there + "flags ACK", "ESTABLISHED", "ESTABLISHED 432000 ASSURED"},
		{0, "tcp " + back + "flags RST", "ESTABLISHED", "CLOSE 10 ASSURED"},
		{11 * time.Second, "tcp " + back + "flags RST", "INVALID", "none"},
	}},
	{"tcp picked up", nil, []life{
		{0, "tcp " + there + "flags ACK", "NEW", "ESTABLISHED 300 UNREPLIED"},
		{0, "tcp " + back + "flags ACK", "ESTABLISHED", "ESTABLISHED 300"},
		{0, "tcp " + there + "flags ACK", "ESTABLISHED", "ESTABLISHED 432000 ASSURED"},
	}},
	{"tcp not picked up", map[string]string{"net.netfilter.nf_conntrack_tcp_loose": "0"}, []life{
		{0, "tcp " + there + "flags ACK", "INVALID", "none"},
	}},
	{"tcp that begins nothing", nil, []life{
		{0, "tcp " + there + "flags SYN,ACK", "INVALID", "none"},
		{0, "tcp " + there + "flags RST", "INVALID", "none"},
		{0, "tcp " + there + "flags FIN,ACK", "INVALID", "none"},
		{0, "tcp " + there + "flags NONE", "INVALID", "none"},
		{0, "tcp " + there + "flags SYN,FIN", "INVALID", "none"},
	}},
	{"tcp timeout of the host", map[string]string{"net.netfilter.nf_conntrack_tcp_timeout_syn_sent": "7"}, []life{
		{0, "tcp " + there + "flags SYN", "NEW", "SYN_SENT 7 UNREPLIED"},
	}},
	{"udp asked and answered", nil, []life{
		{0, "udp " + there, "NEW", "30 UNREPLIED"},
		{time.Second, "udp " + there, "NEW", "30 UNREPLIED"},
		{0, "udp " + back, "ESTABLISHED", "30"},
		{0, "udp " + there, "ESTABLISHED", "30"},
		{2 * time.Second, "udp " + there, "ESTABLISHED", "120 ASSURED"},
		{121 * time.Second, "udp " + back, "NEW", "30 UNREPLIED"},
	}},
	{"udp never answered", nil, []life{
		{0, "udp " + there, "NEW", "30 UNREPLIED"},
		{30 * time.Second, "udp " + back, "NEW", "30 UNREPLIED"},
	}},
	{"echo", nil, []life{
		{0, "icmp 10.244.0.11 > 10.244.0.12 in veth1", "NEW", "30 UNREPLIED"},
		{0, "icmp 10.244.0.12 > 10.244.0.11 in veth2 type 0/0", "ESTABLISHED", "30"},
		{31 * time.Second, "icmp 10.244.0.12 > 10.244.0.11 in veth2 type 0/0", "INVALID", "none"},
	}},
	{"sctp handshake", nil, []life{
		{0, "sctp " + there, "NEW", "CLOSED 10 UNREPLIED"},
		{0, "sctp " + back, "ESTABLISHED", "COOKIE_WAIT 3"},
		{0, "sctp " + there, "ESTABLISHED", "COOKIE_ECHOED 3"},
		{0, "sctp " + back, "ESTABLISHED", "ESTABLISHED 210 ASSURED"},
	}},
	{"gre", nil, []life{
		{0, "47 10.244.0.11 > 10.244.0.12 in veth1", "NEW", "30 UNREPLIED"},
		{0, "47 10.244.0.12 > 10.244.0.11 in veth2", "ESTABLISHED", "30"},
		{0, "47 10.244.0.12 > 10.244.0.11 in veth2", "ESTABLISHED", "180 ASSURED"},
	}},
	{"another protocol", nil, []life{{0, "99 10.244.0.11 > 10.244.0.12 in veth1", "NEW", "600 UNREPLIED"}}},
	{"not tracked", nil, []life{{0, "udp 10.244.0.11:1 > 10.244.0.12:999 in veth1", "UNTRACKED", "none"}}},
}

func TestConntrackLives(t *testing.T) {
	for _, row := range conntrackLives {
		t.Run(row.name, func(t *testing.T) {
			h, clock := testNode{rules4: stateRules, sysctls: row.sysctls}.build(t)
			for i, l := range row.life {
				clock.Step(l.wait)
				state := stateOf(step(t, h, l.packet))
				assert.Equal(t, l.state+" "+l.entry, state+" "+entryText(t, h), "packet %d: %s", i, l.packet)
			}
		})
	}
}

func TestDroppedPacketLeavesNoEntry(t *testing.T) {
	h, _ := testNode{rules4: "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m conntrack --ctstate NEW -j DROP\nCOMMIT\n"}.build(t)
	step(t, h, "tcp "+there)
	assert.Empty(t, h.Conntrack())
}

func TestOutOfWindow(t *testing.T) {
	for liberal, want := range map[string]string{"0": "INVALID", "1": "ESTABLISHED"} {
		h, _ := testNode{rules4: stateRules, sysctls: map[string]string{"net.netfilter.nf_conntrack_tcp_be_liberal": liberal}}.build(t)
		step(t, h, "tcp "+there+"flags SYN")
		step(t, h, "tcp "+back+"flags SYN,ACK")
		in := parse(t, "tcp "+back+"flags ACK")
		in.OutOfWindow = true
		o, err := h.Step(in, SeededChance(0))
		require.NoError(t, err)
		assert.Equal(t, want, stateOf(o), "liberal %s", liberal)
	}
}

func TestICMPErrorIsRelatedAndTranslatedBack(t *testing.T) {
	h, _ := testNode{rules4: natRules + stateRules}.build(t)
	sent := step(t, h, "tcp 192.168.0.9:1000 > 192.168.0.3:30080 in eth0")
	quoted := sent.Packet
	in := parse(t, "icmp 10.244.0.12 > 10.244.0.1 in veth2 type 3/3")
	in.Inner = &quoted
	o, err := h.Step(in, SeededChance(0))
	require.NoError(t, err)
	assert.Equal(t, "RELATED", stateOf(o))
	assert.Equal(t, "accept forward eth0 192.168.0.3>192.168.0.9", brief(o))
	assert.Equal(t, "192.168.0.9:1000>192.168.0.3:30080", header(*o.Packet.Inner))

	in.Inner = &inet.Packet{Proto: inet.TCP, Src: quoted.Src, Dst: quoted.Dst, SrcPort: 4, DstPort: 5}
	o, err = h.Step(in, SeededChance(0))
	require.NoError(t, err)
	assert.Equal(t, "INVALID", stateOf(o), "about a connection that is not there")

	in.Inner = nil
	_, err = h.Step(in, SeededChance(0))
	require.ErrorContains(t, err, `add "quotes { PACKET }"`)
}

func TestConntrackEntriesOfConfig(t *testing.T) {
	h, _ := testNode{rules4: natRules}.build(t)
	step(t, h, "tcp 192.168.0.9:1000 > 192.168.0.3:30080 in eth0")
	entries := h.Conntrack()
	twin, _ := testNode{rules4: natRules, conntrack: entries}.build(t)
	assert.Equal(t, entries, twin.Conntrack())
	assert.Equal(t, "accept forward eth0 192.168.0.3:30080>192.168.0.9:1000",
		brief(walkOne(t, twin, "tcp 10.244.0.12:8080 > 10.244.0.1:1000 in veth2 flags SYN,ACK")))
	_, err := NewHost(HostConfig{Conntrack: append(entries, entries[0])})
	require.ErrorContains(t, err, "conntrack entry 1: a tuple of it is in another entry")
}

func TestDeleteConntrack(t *testing.T) {
	h, _ := testNode{rules4: natRules}.build(t)
	step(t, h, "udp 10.244.0.11:1000 > 10.96.0.1:80 in veth1")
	step(t, h, "udp 10.244.0.11:1000 > 8.8.8.8:53 in veth1")
	removed := h.DeleteConntrack(func(e conntrack.Entry) bool { return e.Original.DstPort == 80 })
	assert.Equal(t, 1, removed)
	require.Len(t, h.Conntrack(), 1)
	assert.EqualValues(t, 53, h.Conntrack()[0].Original.DstPort)
}
