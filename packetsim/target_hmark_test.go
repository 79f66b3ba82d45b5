package packetsim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHMARK(t *testing.T) {
	const all = "--hmark-tuple src,dst,sport,dport,proto --hmark-rnd 0xfeedcafe --hmark-mod 65536"
	marked := func(t *testing.T, options, packet string) uint32 {
		h, _ := testNode{rules4: "*mangle\n:FORWARD ACCEPT [0:0]\n-A FORWARD -j HMARK " + options + "\nCOMMIT\n"}.build(t)
		outcomes, err := h.Walk(parse(t, packet))
		require.NoError(t, err)
		return outcomes[0].Packet.Mark
	}
	const there, back = "udp 10.244.0.11:5 > 10.244.0.12:9 in veth1", "udp 10.244.0.12:9 > 10.244.0.11:5 in veth2"
	assert.Equal(t, marked(t, all, there), marked(t, all, back), "both directions have one mark")
	assert.Equal(t, marked(t, all, there)+3, marked(t, all+" --hmark-offset 3", there))
	assert.NotEqual(t, marked(t, all, there), marked(t, all, "udp 10.244.0.11:6 > 10.244.0.12:9 in veth1"))
	const host = "--hmark-src-prefix 24 --hmark-dst-prefix 24 --hmark-rnd 5 --hmark-mod 65536"
	assert.Equal(t, marked(t, host, there), marked(t, host, "tcp 10.244.0.77:6 > 10.244.0.12:1 in veth1"))
	assert.Equal(t, marked(t, all, "udp 10.244.0.12:9 > 10.244.0.11:5 in veth2"),
		marked(t, all, "icmp 10.244.0.11 > 10.244.0.12 in veth1 type 3/3 quotes { udp 10.244.0.12:9 > 10.244.0.11:5 }"))
}

func TestHMARKNamesTheFieldThatIsMissing(t *testing.T) {
	for packet, want := range map[string]error{
		"icmp 10.244.0.11 > 10.244.0.12 in veth1 type 3/3": errNoHashICMP,
		"50 10.244.0.11 > 10.244.0.12 in veth1":            errNoSPI,
		"33 10.244.0.11 > 10.244.0.12 in veth1":            errNoHashPorts,
	} {
		h,
			_ := testNode{
			rules4: "*mangle\n:FORWARD ACCEPT [0:0]\n-A FORWARD -j HMARK --hmark-tuple src,sport --hmark-rnd 5 --hmark-mod 9\nCOMMIT\n",
		}.build(t)
		_, err := h.Walk(parse(t, packet))
		assert.ErrorIs(t, err, want, packet)
	}
}
