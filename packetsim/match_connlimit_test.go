package packetsim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

func TestMatchConnlimit(t *testing.T) {
	h, clock := testNode{rules4: "*filter\n:FORWARD ACCEPT [0:0]\n" +
		"-A FORWARD -p tcp -m tcp --syn -m connlimit --connlimit-above 2 --connlimit-mask 24 -j DROP\nCOMMIT\n"}.build(t)
	assert.Equal(t, Accept, step(t, h, fromPort(1, "SYN")).Verdict)
	assert.Equal(t, Accept, step(t, h, fromPort(1, "SYN")).Verdict, "the same connection")
	assert.Equal(t, Accept, step(t, h, "tcp 10.244.0.13:2 > 10.244.0.12:80 in veth1").Verdict, "another client of the network")
	assert.Equal(t, Drop, walkOne(t, h, fromPort(3, "SYN")).Verdict)
	assert.Equal(t, Drop, step(t, h, fromPort(3, "SYN")).Verdict)
	assert.Equal(t, Drop, step(t, h, fromPort(4, "SYN")).Verdict, "the dropped one does not count")
	assert.Equal(t, Drop, step(t, h, fromPort(1, "SYN")).Verdict, "as in the kernel, the last dropped one behind it still counts")
	step(t, h, "tcp 10.244.0.12:80 > 10.244.0.11:1 in veth2 flags SYN,ACK")
	step(t, h, fromPort(1, "RST"))
	assert.Equal(t, Accept, step(t, h, fromPort(5, "SYN")).Verdict, "one is closed")
	clock.Step(500e9)
	assert.Equal(t, Accept, step(t, h, fromPort(6, "SYN")).Verdict, "the others have expired")
	assert.Equal(t, Accept, step(t, h, fromPort(7, "SYN")).Verdict)
	assert.Equal(t, Drop, step(t, h, fromPort(8, "SYN")).Verdict)
}

func TestMatchConnlimitByDestination(t *testing.T) {
	h := forwardHost(t, "-p tcp -m connlimit --connlimit-upto 1 --connlimit-daddr")
	assert.Equal(t, Drop, walkOne(t, h, fromPort(1, "SYN")).Verdict)
	h = forwardHost(t, "-p tcp -m connlimit ! --connlimit-upto 0 --connlimit-daddr")
	assert.Equal(t, Drop, walkOne(t, h, fromPort(1, "SYN")).Verdict)
}

// countingHost forwards packets and tells by the steps of chain C how many connections -m connlimit counts: the rule of number N matches
// where they are N or more. The rules in front decide which packets come to it.
func countingHost(t *testing.T, most int, front ...string) *Host {
	var rules strings.Builder
	rules.WriteString("*filter\n:FORWARD ACCEPT [0:0]\n:C - [0:0]\n")
	for _, rule := range front {
		rules.WriteString(rule + "\n")
	}
	for n := range most {
		fmt.Fprintf(&rules, "-A C -m connlimit --connlimit-above %d --connlimit-mask 0\n", n)
	}
	h, _ := testNode{rules4: rules.String() + "COMMIT\n"}.build(t)
	return h
}

// counted is what the rules of a countingHost counted at the packet.
func counted(t *testing.T, h *Host, packet string) (count int) {
	t.Helper()
	for _, s := range step(t, h, packet).Steps {
		if s.Chain == "C" && s.Rule != nil {
			count++
		}
	}
	return count
}

const handshake = "tcp 10.244.0.12:80 > 10.244.0.11:1 in veth2 flags SYN,ACK"

// TestConnlimitWhereConnectionsClose has what Linux 6.18 counted. Of a connection that was not answered the kernel looks for the entry of
// each packet; of one that is assured it takes out what is over, itself too, and drops a packet that finds nothing left.
func TestConnlimitWhereConnectionsClose(t *testing.T) {
	for _, row := range []struct {
		name    string
		packets []string
		counts  []int // 0: the packet is dropped
	}{
		{"a reset of what was never answered", []string{fromPort(1, "SYN"), fromPort(1, "RST"), fromPort(2, "SYN")}, []int{1, 1, 1}},
		{"a reset of what is assured", []string{fromPort(1, "SYN"), handshake, fromPort(1, "ACK"), fromPort(1, "RST"), fromPort(1, "RST"),
			fromPort(1, "SYN")}, []int{1, 1, 1, 0, 0, 1}},
		{"a reset of one of two", []string{fromPort(1, "SYN"), handshake, fromPort(1, "ACK"), fromPort(2, "SYN"), fromPort(1, "RST"),
			fromPort(2, "SYN")}, []int{1, 1, 1, 2, 1, 1}},
		{"an answer that is not of the connection counts as what it is itself",
			[]string{fromPort(1, "SYN"), "tcp 10.244.0.12:80 > 10.244.0.11:1 in veth2 flags FIN,ACK",
				"tcp 10.244.0.12:80 > 10.244.0.11:1 in veth2 flags FIN,ACK", handshake}, []int{1, 2, 2, 2}},
		{"out of the window of what is assured", []string{fromPort(1, "SYN"), handshake, fromPort(1, "ACK"),
			fromPort(1, "ACK") + " out-of-window"}, []int{1, 1, 1, 1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := countingHost(t, 3, "-A FORWARD -j C")
			for i, packet := range row.packets {
				require.Equal(t, row.counts[i], counted(t, h, packet), packet)
			}
		})
	}
}

// TestConnlimitMetTwice has what Linux 6.18 counted: within a tick of its clock the kernel counts a new connection each time that its first
// packet comes, until there are 64 that it has not looked at.
func TestConnlimitMetTwice(t *testing.T) {
	h := countingHost(t, 3, "-A FORWARD -j C", "-A FORWARD -j C")
	assert.Equal(t, 1+2, counted(t, h, fromPort(1, "SYN")))
	assert.Equal(t, 2+2, counted(t, h, fromPort(1, "SYN")), "both of it are in the list")
	assert.Equal(t, 3+3, counted(t, h, fromPort(2, "SYN")), "and the other one, twice the second time")

	const visits = 200
	rules := "*filter\n:FORWARD ACCEPT [0:0]\n:C - [0:0]\n" + strings.Repeat("-A FORWARD -j C\n", visits)
	limits := []int{0, 1, 63, 64, 65, 66, 128}
	for _, n := range limits {
		rules += fmt.Sprintf("-A C -m connlimit --connlimit-above %d --connlimit-mask 0\n", n)
	}
	h, _ = testNode{rules4: rules + "COMMIT\n"}.build(t)
	for _, row := range []struct {
		port int
		want []int // visits with more than the limit
	}{
		{40001, []int{200, 196, 3, 0, 0, 0, 0}}, {40001, []int{200, 200, 0, 0, 0, 0, 0}}, {40002, []int{200, 200, 27, 24, 21, 18, 0}},
	} {
		met := make([]int, len(limits))
		for _, s := range step(t, h, fmt.Sprintf("udp 10.244.0.11:%d > 10.244.0.12:80 in veth1", row.port)).Steps {
			if s.Chain == "C" && s.Rule != nil {
				met[s.Number-1]++
			}
		}
		assert.Equal(t, row.want, met, row.port)
	}
}

// TestConnlimitOfManyThatAreOver has what Linux 6.18 counted: it leaves the others for the next time once it has found 65 that are over.
func TestConnlimitOfManyThatAreOver(t *testing.T) {
	race.OneGoroutine(t)
	h := countingHost(t, 110, "-A FORWARD -p tcp -m tcp --tcp-flags RST RST -j ACCEPT", "-A FORWARD -j C")
	assert.Equal(t, 1, counted(t, h, fromPort(1, "SYN")))
	for port := range 100 {
		counted(t, h, fromPort(100+port, "SYN"))
	}
	assert.Equal(t, 102, counted(t, h, fromPort(2, "SYN")))
	h.DeleteConntrack(func(conntrack.Entry) bool { return true })
	assert.Equal(t, 102-65+1, counted(t, h, fromPort(3, "SYN")))
	assert.Equal(t, 2, counted(t, h, fromPort(4, "SYN")))

	h = countingHost(t, 110, "-A FORWARD -p tcp -m tcp --tcp-flags RST RST -j ACCEPT", "-A FORWARD -j C")
	for _, packet := range []string{fromPort(1, "SYN"), handshake, fromPort(1, "ACK")} {
		counted(t, h, packet)
	}
	for port := range 101 {
		counted(t, h, fromPort(100+port, "SYN"))
	}
	for port := range 101 {
		if port != 70 {
			counted(t, h, fromPort(100+port, "RST"))
		}
	}
	assert.Equal(t, 32, counted(t, h, fromPort(1, "ACK")), "the assured one, and those from the first behind 65 that is not over")
	assert.Equal(t, 2, counted(t, h, fromPort(1, "ACK")))
}

// TestConnlimitOfOtherZones has what Linux 6.18 counted of packets that conntrack leaves alone, of a connection in a zone of one direction.
func TestConnlimitOfOtherZones(t *testing.T) {
	h,
		_ := testNode{
		rules4: "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -i veth1 -j CT --zone-orig 1\n-A PREROUTING -i veth2 -j NOTRACK\nCOMMIT\n" +
			"*filter\n:FORWARD ACCEPT [0:0]\n:C - [0:0]\n-A FORWARD -j C\n" +
			"-A C -m connlimit --connlimit-above 0 --connlimit-mask 0\n-A C -m connlimit --connlimit-above 1 --connlimit-mask 0\n" +
			"-A C -m connlimit --connlimit-above 2 --connlimit-mask 0\n-A C -m connlimit --connlimit-above 3 --connlimit-mask 0\nCOMMIT\n"}.build(t)
	assert.Equal(t, 1, counted(t, h, "udp 10.244.0.11:1 > 10.244.0.12:9 in veth1"))
	const back, other = "udp 10.244.0.12:9 > 10.244.0.11:1 in veth2", "udp 10.244.0.12:9 > 10.244.0.11:2 in veth2"
	for i, packet := range []string{back, back, back, other, other, back} {
		assert.Equal(t, []int{1, 2, 3, 4, 4, 4}[i], counted(t, h, packet), "packet %d", i)
	}
}
