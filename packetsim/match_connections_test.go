package packetsim

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// fromPort is a packet to the server from one of the client's ports.
func fromPort(port int, flags string) string {
	return fmt.Sprintf("tcp 10.244.0.11:%d > 10.244.0.12:80 in veth1 flags %s", port, flags)
}

func TestMatchConnbytes(t *testing.T) {
	h := forwardHost(t, "-m connbytes --connbytes 2:3 --connbytes-dir original --connbytes-mode packets")
	const there, back = "udp 10.244.0.11:1 > 10.244.0.12:9 in veth1 len 100", "udp 10.244.0.12:9 > 10.244.0.11:1 in veth2 len 60"
	assert.Equal(t, Accept, step(t, h, there).Verdict)
	assert.Equal(t, Accept, step(t, h, back).Verdict)
	assert.Equal(t, Drop, walkOne(t, h, there).Verdict)
	assert.Equal(t, Drop, step(t, h, there).Verdict)
	assert.Equal(t, Drop, step(t, h, back).Verdict, "it is the connection that has sent two")
	assert.Equal(t, Drop, step(t, h, there).Verdict)
	assert.Equal(t, Accept, step(t, h, there).Verdict, "four")
	for _, row := range []struct {
		args string
		want Verdict
	}{
		{"--connbytes 160 --connbytes-dir both --connbytes-mode bytes", Drop},
		{"--connbytes 161 --connbytes-dir both --connbytes-mode bytes", Accept},
		{"! --connbytes 160:161 --connbytes-dir both --connbytes-mode bytes", Accept},
		{"! --connbytes 161:162 --connbytes-dir both --connbytes-mode bytes", Drop},
		{"--connbytes 80:80 --connbytes-dir both --connbytes-mode avgpkt", Drop},
		{"--connbytes 60:60 --connbytes-dir reply --connbytes-mode avgpkt", Drop},
		{"--connbytes 100:100 --connbytes-dir original --connbytes-mode avgpkt", Drop},
	} {
		h, _ := testNode{rules4: "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -i veth2 -m connbytes " + row.args + " -j DROP\nCOMMIT\n"}.build(t)
		step(t, h, there)
		assert.Equal(t, row.want, step(t, h, back).Verdict, row.args)
	}
}

func TestConnectionsCountOnlyWhereSomebodyAsks(t *testing.T) {
	const rule = "-m conntrack --ctstate INVALID"
	const packet = "udp 10.244.0.11:1 > 10.244.0.12:9 in veth1"
	h := forwardHost(t, rule)
	step(t, h, packet)
	require.Len(t, h.Conntrack(), 1)
	for c := range h.conns.All() {
		assert.Nil(t, c.Counters)
	}
	h, _ = testNode{rules4: "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD " + rule + "\nCOMMIT\n"}.build(t)
	require.NoError(t, h.SetSysctl("net.netfilter.nf_conntrack_acct", "1"))
	step(t, h, packet)
	require.Len(t, h.Conntrack(), 1)
	for c := range h.conns.All() {
		assert.EqualValues(t, 1, c.Counters[conntrack.Original].Packets)
	}
}

func TestGivenConnectionsHaveNeitherCountersNorLabels(t *testing.T) {
	h := forwardHost(t, "-m conntrack --ctstate INVALID")
	step(t, h, "udp 10.244.0.11:1 > 10.244.0.12:9 in veth1")
	require.Len(t, h.Conntrack(), 1)
	for condition, want := range map[string]error{
		"-m connbytes --connbytes 1 --connbytes-dir both --connbytes-mode packets": errNoAccounting,
		"-m connlabel --label 1": errNoLabels,
	} {
		config := forwardHost(t, condition).Config()
		config.Conntrack = h.Conntrack()
		given, err := NewHost(config)
		require.NoError(t, err)
		_, err = given.Walk(parse(t, "udp 10.244.0.11:1 > 10.244.0.12:9 in veth1"))
		require.ErrorIs(t, err, want, condition)
		_, err = given.Walk(parse(t, "udp 10.244.0.11:2 > 10.244.0.12:9 in veth1"))
		require.NoError(t, err, "a new one")
	}
}

func TestMatchConnlabel(t *testing.T) {
	h, _ := testNode{rules4: "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m connlabel --label 100 -j DROP\n" +
		"-A FORWARD -m mark --mark 1 -m connlabel ! --label 100 --set -j DROP\nCOMMIT\n"}.build(t)
	const packet = "udp 10.244.0.11:1 > 10.244.0.12:9 in veth1"
	assert.Equal(t, Accept, step(t, h, packet).Verdict)
	assert.Equal(t, Accept, walkOne(t, h, packet+" mark 1").Verdict, "--set makes it hold, which is negated")
	assert.Equal(t, Accept, step(t, h, packet).Verdict, "a walk keeps nothing")
	assert.Equal(t, Accept, step(t, h, packet+" mark 1").Verdict)
	assert.Equal(t, Drop, step(t, h, packet).Verdict)
	assert.Equal(t, Accept, step(t, h, "udp 10.244.0.11:2 > 10.244.0.12:9 in veth1").Verdict, "another connection")
}

func TestMatchHelper(t *testing.T) {
	checkMatches(t, []matchRow{
		{"-m helper --helper ftp", tcpHTTP, false},
		{"-m helper ! --helper ftp", tcpHTTP, true},
		{`-m helper --helper ""`, tcpHTTP, false},
	})
	h, _ := testNode{rules4: "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p tcp -j CT --helper ftp --zone 3\nCOMMIT\n"}.build(t)
	step(t, h, tcpHTTP)
	require.Len(t, h.Conntrack(), 1)
	assert.Equal(t, conntrack.Zone{Original: 3, Reply: 3}, h.Conntrack()[0].Zone)
}

func TestConnectionsSayTheirHelperAndCounts(t *testing.T) {
	h, _ := testNode{rules4: "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p tcp -j CT --helper ftp\nCOMMIT\n" +
		"*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m connbytes --connbytes 9 --connbytes-dir both --connbytes-mode packets -j DROP\n" +
		"COMMIT\n"}.build(t)
	step(t, h, fromPort(1, "SYN"))
	step(t, h, "tcp 10.244.0.12:80 > 10.244.0.11:1 in veth2 flags SYN,ACK")
	require.Len(t, h.Conntrack(), 1)
	e := h.Conntrack()[0]
	assert.Equal(t, "ftp", e.Helper)
	assert.True(t, e.Counted)
	assert.Equal(t, [2]uint64{1, 1}, e.Packets)
	assert.Equal(t, [2]uint64{40, 40}, e.Bytes)

	given, err := NewHost(h.Config())
	require.NoError(t, err)
	assert.Equal(t, h.Conntrack(), given.Conntrack())
}
