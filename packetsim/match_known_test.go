package packetsim

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// forwardHost drops what the condition of a rule of FORWARD holds for.
func forwardHost(t *testing.T, condition string) *Host {
	h, _ := testNode{rules4: "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD " + condition + " -j DROP\nCOMMIT\n"}.build(t)
	return h
}

func TestMatchesOfTheHeader(t *testing.T) {
	checkMatches(t, []matchRow{
		{"-m iprange --src-range 10.244.0.1-10.244.0.11", tcpHTTP, true},
		{"-m iprange ! --src-range 10.244.0.1-10.244.0.11", tcpHTTP, false},
		{"-m iprange --dst-range 10.244.0.13-10.244.0.99", tcpHTTP, false},
		{"-m length --length 40", tcpHTTP, true},
		{"-m length --length 41:", tcpHTTP, false},
		{"-m length ! --length 100:200", tcpHTTP + " len 150", false},
		{"-m connmark --mark 0x0", tcpHTTP, true},
		{"-m connmark ! --mark 0x0", tcpHTTP, false},
		{"-m connmark ! --mark 0x1", tcpHTTP + " flags SYN,ACK", false},
		{"-m physdev --physdev-is-bridged", tcpHTTP, false},
		{"-m physdev ! --physdev-is-bridged", tcpHTTP, true},
	})
}

func TestMatchesOfWhatIsKnown(t *testing.T) {
	mac := inet.MAC{2, 0, 0, 0, 0, 1}
	rows := []struct {
		name, condition string
		change          func(*inet.Input)
		want            Verdict
		wantErr         string
	}{
		{"address of the sender", "-m mac --mac-source 02:00:00:00:00:01", func(in *inet.Input) { in.MAC = mac }, Drop, ""},
		{"another address", "-m mac ! --mac-source 02:00:00:00:00:01", func(in *inet.Input) { in.MAC = mac }, Accept, ""},
		{"address not known", "-m mac --mac-source 02:00:00:00:00:01", func(*inet.Input) {}, "", `add "mac ADDRESS"`},
		{"kind of address", "-m pkttype --pkt-type broadcast", func(in *inet.Input) { in.LinkType = inet.LinkBroadcast }, Drop, ""},
		{"another kind", "-m pkttype ! --pkt-type broadcast", func(in *inet.Input) { in.LinkType = inet.LinkUnicast }, Drop, ""},
		{"kind not known", "-m pkttype --pkt-type broadcast", func(*inet.Input) {}, "", `add "link unicast"`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			in := parse(t, tcpHTTP)
			row.change(&in)
			outcomes, err := forwardHost(t, row.condition).Walk(in)
			if row.wantErr != "" {
				require.ErrorContains(t, err, row.wantErr)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, row.want, outcomes[0].Verdict)
		})
	}
}

func TestMatchOwner(t *testing.T) {
	root, user := &inet.Socket{}, &inet.Socket{UID: 1000, GID: 100, Groups: []uint32{7}}
	rows := []struct {
		name, condition string
		socket          *inet.Socket
		want            Verdict
	}{
		{"owner", "--uid-owner 1000", user, Drop},
		{"another owner", "--uid-owner 1000", root, Accept},
		{"range", "--uid-owner 900-1100 --gid-owner 100", user, Drop},
		{"not the owner", "! --uid-owner 1000", user, Accept},
		{"second group", "--gid-owner 7 --suppl-groups", user, Drop},
		{"second group does not count", "--gid-owner 7", user, Accept},
		{"socket exists", "--socket-exists", user, Drop},
		{"no socket", "! --socket-exists", &inet.Socket{None: true}, Drop},
		{"no socket has no owner", "--uid-owner 0", &inet.Socket{None: true}, Accept},
		{"no socket has not this owner", "! --uid-owner 0", &inet.Socket{None: true}, Drop},
		{"the kernel has no owner", "--uid-owner 0", &inet.Socket{Kernel: true}, Accept},
		{"the kernel has a socket", "--socket-exists", &inet.Socket{Kernel: true}, Drop},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			h, _ := testNode{rules4: "*filter\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT -m owner " + row.condition + " -j DROP\nCOMMIT\n"}.build(t)
			in := parse(t, "udp 192.168.0.3:1 > 10.244.0.12:80 local")
			_, err := h.Walk(in)
			require.ErrorContains(t, err, `add "socket none"`)
			in.Socket = row.socket
			outcomes, err := h.Walk(in)
			require.NoError(t, err)
			assert.Equal(t, row.want, outcomes[0].Verdict)
		})
	}
}

func TestMatchSocketAndTPROXY(t *testing.T) {
	const rules = "*mangle\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p tcp -m socket --transparent --restore-skmark -j ACCEPT\n" +
		"-A PREROUTING -p udp -j TPROXY --on-port 99 --on-ip 0.0.0.0 --tproxy-mark 0x1/0x1\nCOMMIT\n"
	h, _ := testNode{rules4: rules}.build(t)
	rows := []struct {
		packet string
		socket inet.Socket
		want   string
		mark   uint32
	}{
		{"tcp 10.244.0.11:1 > 8.8.8.8:80 in veth1", inet.Socket{Transparent: true, Mark: 7},
			"accept forward eth0 10.244.0.11:1>8.8.8.8:80 via 192.168.0.1", 7},
		{"tcp 10.244.0.11:1 > 8.8.8.8:80 in veth1", inet.Socket{Transparent: true, Wildcard: true, Mark: 7},
			"accept forward eth0 10.244.0.11:1>8.8.8.8:80 via 192.168.0.1", 0},
		{"udp 10.244.0.11:1 > 8.8.8.8:80 in veth1", inet.Socket{Transparent: true},
			"accept forward eth0 10.244.0.11:1>8.8.8.8:80 via 192.168.0.1", 1},
		{"udp 10.244.0.11:1 > 8.8.8.8:80 in veth1", inet.Socket{None: true}, "drop no transparent socket for TPROXY", 0},
	}
	for _, row := range rows {
		in := parse(t, row.packet)
		_, err := h.Walk(in)
		require.ErrorContains(t, err, `add "socket none"`)
		in.Socket = &row.socket
		outcomes, err := h.Walk(in)
		require.NoError(t, err)
		assert.Equal(t, row.want, brief(outcomes[0]))
		assert.Equal(t, row.mark, outcomes[0].Final.Mark)
	}
}

func TestMatchSCTPChunks(t *testing.T) {
	const packet = "sctp 10.244.0.11:1 > 10.244.0.12:80 in veth1"
	rows := []struct {
		condition string
		chunks    []inet.SCTPChunkType
		want      Verdict
	}{
		{"any INIT,DATA", []inet.SCTPChunkType{inet.SCTPSack, inet.SCTPData}, Drop},
		{"any INIT", []inet.SCTPChunkType{inet.SCTPSack, inet.SCTPData}, Accept},
		{"all SACK,DATA", []inet.SCTPChunkType{inet.SCTPSack, inet.SCTPData, inet.SCTPInit}, Drop},
		{"all SACK,DATA", []inet.SCTPChunkType{inet.SCTPSack}, Accept},
		{"only SACK,DATA", []inet.SCTPChunkType{inet.SCTPSack}, Drop},
		{"only SACK", []inet.SCTPChunkType{inet.SCTPSack, inet.SCTPData}, Accept},
	}
	for _, row := range rows {
		h := forwardHost(t, "-p sctp -m sctp --dport 80 --chunk-types "+row.condition)
		in := parse(t, packet)
		_, err := h.Walk(in)
		require.ErrorContains(t, err, `add "chunks TYPE"`)
		for _, kind := range row.chunks {
			in.Chunks = append(in.Chunks, inet.SCTPChunk{Type: kind})
		}
		outcomes, err := h.Walk(in)
		require.NoError(t, err)
		assert.Equal(t, row.want, outcomes[0].Verdict, "%s of %v", row.condition, row.chunks)
	}
}

// pace sends a packet at each of the times and marks those that the rule holds for.
func pace(t *testing.T, condition string, packet string, gaps ...time.Duration) string {
	h, clock := testNode{rules4: "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD " + condition + " -j DROP\nCOMMIT\n"}.build(t)
	seen := ""
	for _, gap := range gaps {
		clock.Step(gap)
		walkOne(t, h, packet) // which takes nothing out of the bucket
		if step(t, h, packet).Verdict == Drop {
			seen += "*"
		} else {
			seen += "-"
		}
	}
	return seen
}

func TestLimits(t *testing.T) {
	const packet = "udp 10.244.0.11:1 > 10.244.0.12:80 in veth1"
	second := time.Second
	rows := []struct {
		condition string
		gaps      []time.Duration
		want      string
	}{
		{"-m limit --limit 1/sec --limit-burst 2", []time.Duration{0, 0, 0, second, 0, 5 * second, 0, 0}, "**-*-**-"},
		{"-m limit --limit 2/sec --limit-burst 1", []time.Duration{0, 499 * time.Millisecond, time.Millisecond, 0}, "*-*-"},
		{"-m limit --limit 1/day --limit-burst 1", []time.Duration{0, 23 * time.Hour, time.Hour}, "*-*"},
		{"-m hashlimit --hashlimit-upto 1/sec --hashlimit-burst 2 --hashlimit-mode srcip --hashlimit-name a",
			[]time.Duration{0, 0, 0, second, 0, 60 * second, 0, 0}, "**-*-**-"},
		{"-m hashlimit --hashlimit-above 1/sec --hashlimit-burst 2 --hashlimit-mode srcip --hashlimit-name b",
			[]time.Duration{0, 0, 0, second, 0}, "--*-*"},
		{"-m hashlimit --hashlimit-upto 28b/s --hashlimit-mode dstip --hashlimit-name c", []time.Duration{0, 0, 2 * second, 0}, "*-*-"},
		{"-m hashlimit --hashlimit-upto 2/sec --hashlimit-name d --hashlimit-rate-match --hashlimit-rate-interval 1", []time.Duration{0, 0},
			"**"},
	}
	for _, row := range rows {
		t.Run(row.condition, func(t *testing.T) { assert.Equal(t, row.want, pace(t, row.condition, packet, row.gaps...)) })
	}
}

func TestHashlimitKeepsKeysApart(t *testing.T) {
	h := forwardHost(t, "-m hashlimit --hashlimit-upto 1/hour --hashlimit-burst 1 --hashlimit-mode srcip,dstport --hashlimit-name k "+
		"--hashlimit-srcmask 31")
	for _, row := range []struct {
		packet string
		want   Verdict
	}{
		{"udp 10.244.0.11:1 > 10.244.0.12:80 in veth1", Drop}, {"udp 10.244.0.11:2 > 10.244.0.12:80 in veth1", Accept},
		{"udp 10.244.0.10:2 > 10.244.0.12:80 in veth1", Accept}, {"udp 10.244.0.11:1 > 10.244.0.12:81 in veth1", Drop},
		{"udp 10.244.0.13:1 > 10.244.0.12:80 in veth1", Drop},
	} {
		assert.Equal(t, row.want, step(t, h, row.packet).Verdict, row.packet)
	}
}

// TestEqualRulesCountApart: what a match remembers is its rule's own.
func TestEqualRulesCountApart(t *testing.T) {
	const rule = "-A FORWARD -m statistic --mode nth --every 2 --packet 0\n-A FORWARD -m limit --limit 1/hour --limit-burst 1\n"
	h, _ := testNode{rules4: "*filter\n:FORWARD ACCEPT [0:0]\n" + rule + rule + "COMMIT\n"}.build(t)
	assert.Equal(t, "filter:FORWARD:rule:1 filter:FORWARD:rule:2 filter:FORWARD:rule:3 filter:FORWARD:rule:4 filter:FORWARD:policy:5",
		way(step(t, h, tcpHTTP)))
	assert.Equal(t, "filter:FORWARD:policy:5", way(step(t, h, tcpHTTP)))
	restoreInto(t, fakeipt.First(h.Netfilter()), netfilter.IPv4, "*filter\n-A FORWARD -j ACCEPT\nCOMMIT\n", "--noflush")
	assert.Equal(t, 5, len(step(t, h, tcpHTTP).Steps), "a commit of the legacy tools begins every count of its table anew")
}

func TestSets(t *testing.T) {
	k := fakeipt.New(fakeipt.Options{})
	var out, errOut bytes.Buffer
	for _, argv := range [][]string{
		{"ipset", "create", "pods", "hash:ip", "counters"}, {"ipset", "add", "pods", "10.244.0.12"},
		{"ipset", "create", "seen", "hash:ip"},
	} {
		require.Zero(t, k.Run(argv, nil, &out, &errOut), errOut.String())
	}
	restoreInto(t, k, netfilter.IPv4, "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m set --match-set seen src -j DROP\n-A FORWARD -m set "+
		"--match-set pods dst -j SET --add-set seen src\n-A FORWARD -d 10.244.0.12/32 -m set --match-set seen src\nCOMMIT\n")
	h, err := NewHost(HostConfig{Devices: testDevices(), Routes: testRoutes(), Sysctls: map[string]string{"net.ipv4.ip_forward": "1"},
		Netfilter: k.Namespace()})
	require.NoError(t, err)
	for _, row := range []struct {
		packet string
		want   Verdict
	}{{"udp 10.244.0.11:1 > 8.8.8.8:80 in veth1", Accept}, {tcpHTTP, Accept}, {tcpHTTP, Drop}} {
		walkOne(t, h, row.packet) // which adds nothing
		assert.Equal(t, row.want, step(t, h, row.packet).Verdict, row.packet)
	}
	assert.Equal(t, "filter:FORWARD:rule:2 filter:FORWARD:rule:3 filter:FORWARD:policy:4",
		way(walkOne(t, h, "udp 10.244.0.13:1 > 10.244.0.12:80 in veth1")),
		"a later rule sees the change")
	out.Reset()
	require.Zero(t, k.Run([]string{"ipset", "save"}, nil, &out, &errOut), errOut.String())
	assert.Contains(t, out.String(), "add seen 10.244.0.11")
	assert.Contains(t, out.String(), "add pods 10.244.0.12 packets 1 bytes 40")
}

func TestTargetsThatPassOrQueue(t *testing.T) {
	const rules = "*mangle\n:FORWARD ACCEPT [0:0]\n-A FORWARD -p tcp -m tcp --tcp-flags SYN,RST SYN -j TCPMSS --clamp-mss-to-pmtu\n-A " +
		"FORWARD -j NFLOG --nflog-group 1\n" +
		"-A FORWARD -j CHECKSUM --checksum-fill\n-A FORWARD -p udp -m udp --dport 1 -j NFQUEUE --queue-num 3\n-A FORWARD -p udp -m udp --dport " +
		"2 -j NFQUEUE --queue-balance 3:5\n" +
		"-A FORWARD -p udp -m udp --dport 3 -j NFQUEUE --queue-num 3 --queue-bypass\nCOMMIT\n"
	h, _ := testNode{rules4: rules}.build(t)
	assert.Equal(t, "mangle:PREROUTING:policy:1 mangle:FORWARD:rule:1 mangle:FORWARD:rule:2 mangle:FORWARD:rule:3 mangle:FORWARD:policy:7 "+
		"mangle:POSTROUTING:policy:1", way(walkOne(t, h, tcpHTTP)))
	assert.Equal(t, "drop queued for a program on queue 3, where none listens",
		brief(walkOne(t, h, "udp 10.244.0.11:1 > 10.244.0.12:1 in veth1")))
	assert.Equal(t, "drop queued for a program on queues 3 to 5, where none listens",
		brief(walkOne(t, h, "udp 10.244.0.11:1 > 10.244.0.12:2 in veth1")))
	assert.Equal(t, Accept, walkOne(t, h, "udp 10.244.0.11:1 > 10.244.0.12:3 in veth1").Verdict)
}

func TestMatchRPFilter(t *testing.T) {
	rows := []struct{ name, options, packet string }{
		{"right device", "", "udp 10.244.0.11:1 > 10.244.0.12:1 in veth1"},
		{"wrong device", "--invert", "udp 10.244.0.11:1 > 10.244.0.12:1 in eth0"},
		{"wrong device, loose", "--loose", "udp 10.244.0.11:1 > 10.244.0.12:1 in eth0"},
		{"own address", "--loose --invert", "udp 192.168.0.3:1 > 10.244.0.12:1 in eth0"},
		{"own address, IPv6", "--invert", "udp [fd00:1::3]:1 > [fd00:2::12]:1 in eth0"},
		{"right device, IPv6", "", "udp [fd00:2::11]:1 > [fd00:2::12]:1 in veth1"},
		{"wrong device, IPv6", "--invert", "udp [fd00:2::11]:1 > [fd00:2::12]:1 in eth0"},
		{"wrong device, IPv6, loose", "--loose", "udp [fd00:2::11]:1 > [fd00:2::12]:1 in eth0"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			rules := "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -m rpfilter " + row.options + " -j DROP\nCOMMIT\n"
			h, _ := testNode{rules4: rules, rules6: rules}.build(t)
			assert.Equal(t, Drop, walkOne(t, h, row.packet).Verdict)
		})
	}
}
