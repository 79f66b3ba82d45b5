package packetsim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

func TestMatchesOfTTLAndService(t *testing.T) {
	checkMatches(t, []matchRow{
		{"-m ttl --ttl-eq 63", tcpHTTP, true}, // the host has taken one off
		{"-m ttl ! --ttl-eq 63", tcpHTTP, false},
		{"-m ttl --ttl-lt 5", tcpHTTP + " ttl 5", true},
		{"-m ttl --ttl-lt 4", tcpHTTP + " ttl 5", false},
		{"-m ttl --ttl-gt 4", tcpHTTP + " ttl 5", false},
		{"-m ttl --ttl-gt 3", tcpHTTP + " ttl 5", true},
		{"-m tos --tos 0x10/0x3f", tcpHTTP + " tos 0xd0", true},
		{"-m tos ! --tos 0x10", tcpHTTP + " tos 0x10", false},
		{"-m tos --tos 0", tcpHTTP, true},
		{"-m dscp --dscp-class EF", tcpHTTP + " tos 0xbb", true},
		{"-m dscp ! --dscp 46", tcpHTTP + " tos 0xb8", false},
		{"-m ecn --ecn-ip-ect 3", tcpHTTP + " tos 0xb3", true},
		{"-m ecn ! --ecn-ip-ect 3", tcpHTTP + " tos 0xb2", true},
		{"-p tcp -m ecn --ecn-tcp-ece", tcpHTTP + " flags SYN,ECE", true},
		{"-p tcp -m ecn ! --ecn-tcp-ece", tcpHTTP + " flags SYN,ECE", false},
		{"-p tcp -m ecn --ecn-tcp-ece --ecn-tcp-cwr", tcpHTTP + " flags SYN,ECE", false},
		{"-p tcp -m ecn ! --ecn-tcp-cwr", tcpHTTP + " flags SYN,ECE", true},
		{"-m policy --dir in --pol none", tcpHTTP, true},
		{"-m policy --dir out --pol ipsec", tcpHTTP, false},
		{"-p esp -m esp --espspi 5:9", "50 10.244.0.11 > 10.244.0.12 in veth1 spi 9", true},
		{"-p esp -m esp ! --espspi 5:9", "50 10.244.0.11 > 10.244.0.12 in veth1 spi 9", false},
		{"-p ah -m ah --ahspi 5:9", "51 10.244.0.11 > 10.244.0.12 in veth1 spi 10", false},
		{"-p ipcomp -m ipcomp --ipcompspi 5", "108 10.244.0.11 > 10.244.0.12 in veth1 spi 5", true},
	})
}

func TestMatchesOfTCPOptions(t *testing.T) {
	checkMatches(t, []matchRow{
		{"-p tcp -m tcpmss --mss 1000:1460", tcpHTTP + " mss 1460", true},
		{"-p tcp -m tcpmss ! --mss 1000:1460", tcpHTTP + " mss 1460", false},
		{"-p tcp -m tcpmss --mss 0:65535", tcpHTTP + " seq 1", false},
		{"-p tcp -m tcpmss ! --mss 0:65535", tcpHTTP + " seq 1", true},
		{"-p tcp -m tcp --tcp-option 2", tcpHTTP + " mss 500", true},
		{"-p tcp -m tcp ! --tcp-option 2", tcpHTTP + " seq 1", true},
		{"-p tcp -m tcp --tcp-option 3", tcpHTTP + " wscale 7", true},
		{"-p tcp -m tcp --tcp-option 4", tcpHTTP + " sack-permitted", true},
		{"-p tcp -m tcp ! --tcp-option 5", tcpHTTP + " sack 1-2", false},
		{"-p tcp -m tcp --tcp-option 8", tcpHTTP + " seq 1", false},
	})
}

func TestMatchesNameTheWordThatIsMissing(t *testing.T) {
	for condition, row := range map[string]struct{ packet, want string }{
		"-p tcp -m tcpmss --mss 5":            {tcpHTTP, `add "mss N"`},
		"-p tcp -m tcp --tcp-option 2":        {tcpHTTP, "packet: TCP options are not known"},
		"-p tcp -m tcp --tcp-option 1":        {tcpHTTP + " seq 1", "packet: TCP options are not known"},
		"-p esp -m esp --espspi 5":            {"50 10.244.0.11 > 10.244.0.12 in veth1", `add "spi N"`},
		"-p ah -m ah --ahspi 5":               {"51 10.244.0.11 > 10.244.0.12 in veth1", `add "spi N"`},
		"-p ipcomp -m ipcomp --ipcompspi 0:9": {"108 10.244.0.11 > 10.244.0.12 in veth1", `add "spi N"`},
	} {
		_, err := forwardHost(t, condition).Walk(parse(t, row.packet))
		assert.ErrorContains(t, err, row.want, condition)
		_, err = forwardHost(t, condition).Walk(parse(t, "udp 10.244.0.11:1 > 10.244.0.12:1 in veth1"))
		assert.NoError(t, err, condition)
	}
}

func TestTargetsThatChangeTheHeader(t *testing.T) {
	for _, row := range []struct{ name, rule, packet, want string }{
		{"TTL", "-j TTL --ttl-set 9", "", "ttl 9"},
		{"TTL less", "-j TTL --ttl-dec 3", "ttl 10", "ttl 6"},
		{"TTL more", "-j TTL --ttl-inc 3", "ttl 10", "ttl 12"},
		{"TTL at most", "-j TTL --ttl-inc 3", "ttl 255", "ttl 255"},
		{"TOS", "-j TOS --set-tos 0x40/0xf0", "tos 0xb8", "tos 0x48"},
		{"TOS xor", "-j TOS --xor-tos 0xff", "tos 0xb8", "tos 0x47"},
		{"DSCP", "-j DSCP --set-dscp-class EF", "tos 0x3", "tos 0xbb"},
		{"ECN", "-j ECN --ecn-ip-ect 1", "tos 0xbb", "tos 0xb9"},
		{"ECN of TCP", "-p tcp -j ECN --ecn-tcp-remove", "flags SYN,ECE,CWR", "flags SYN"},
		{"ECN flags", "-p tcp -j ECN --ecn-tcp-ece 1 --ecn-tcp-cwr 0", "flags SYN,CWR", "flags SYN,ECE"},
		{"MSS", "-p tcp -m tcp --tcp-flags SYN SYN -j TCPMSS --set-mss 1000", "mss 1460", "mss 1000"},
		{"MSS is never raised", "-p tcp -m tcp --tcp-flags SYN SYN -j TCPMSS --set-mss 1000", "mss 500", "mss 500"},
		{"MSS is added", "-p tcp -m tcp --tcp-flags SYN SYN -j TCPMSS --set-mss 1000", "seq 1", "len 44 seq 1 mss 536"},
		{"MSS is added where it was stripped", "-p tcp -j TCPOPTSTRIP --strip-options mss\n" +
			"-A FORWARD -p tcp -m tcp --tcp-flags SYN SYN -j TCPMSS --set-mss 1000", "mss 1460", "len 48 mss 536"},
		{"MSS is added behind what was stripped", "-p tcp -j TCPOPTSTRIP --strip-options sack-permitted\n" +
			"-A FORWARD -p tcp -m tcp --tcp-flags SYN SYN -j TCPMSS --set-mss 500", "seq 1 sack-permitted", "len 48 seq 1 mss 500"},
		{"options", "-p tcp -j TCPOPTSTRIP --strip-options mss,sack-permitted", "mss 1460 wscale 7 sack-permitted", "len 52 seq 0 wscale 7"},
	} {
		t.Run(row.name, func(t *testing.T) {
			h, _ := testNode{rules4: "*mangle\n:FORWARD ACCEPT [0:0]\n-A FORWARD " + row.rule + "\nCOMMIT\n"}.build(t)
			outcomes, err := h.Walk(parse(t, tcpHTTP+" "+row.packet))
			require.NoError(t, err)
			want := parse(t, tcpHTTP+" "+row.want)
			got := outcomes[0].Packet
			if want.TTL == 0 {
				want.TTL = 63
			}
			assert.Equal(t, inet.Input{Packet: want.Packet}.Full(), inet.Input{Packet: got}.Full())
		})
	}
}

func TestMatchAHOfIPv6(t *testing.T) {
	for _, row := range []struct {
		args, packet string
		want         bool
	}{
		{"--ahspi 5 --ahlen 24", "spi 5 ah 24", true},
		{"--ahspi 5 --ahlen 24", "spi 5 ah 28", false},
		{"--ahlen 24", "spi 6 ah 24/9", true},
		{"! --ahlen 24", "spi 5 ah 24", false},
		{"! --ahlen 24", "spi 5 ah 28", true},
		{"--ahlen 0", "spi 5", true},
		{"--ahres", "spi 5 ah 24/9", false},
		{"--ahres", "spi 5 ah 24", true},
		{"--ahlen 24 --ahres", "spi 5 ah 28", false},
	} {
		t.Run(row.args+" | "+row.packet, func(t *testing.T) {
			h, _ := testNode{rules6: "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m ah " + row.args + " -j DROP\nCOMMIT\n"}.build(t)
			const packet = "51 fd00:2::11 > fd00:2::12 in veth1 "
			assert.Equal(t, row.want, walkOne(t, h, packet+row.packet).Verdict == Drop)
		})
	}
	h, _ := testNode{rules6: "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m ah --ahlen 24 -j DROP\nCOMMIT\n"}.build(t)
	_, err := h.Walk(parse(t, "51 fd00:2::11 > fd00:2::12 in veth1 spi 5"))
	require.ErrorIs(t, err, errNoAH)
}
