package forall_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDeadRules(t *testing.T) {
	const text = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:LOST - [0:0]\n:USED - [0:0]\n" +
		"-A FORWARD -d 10.0.0.0/9 -j DROP\n" +
		"-A FORWARD -d 10.128.0.0/9 -j ACCEPT\n" +
		"-A FORWARD -d 10.1.2.0/24 -p tcp -m tcp --dport 80 -j USED\n" + // covered by 1
		"-A FORWARD -d 10.0.0.0/8 -j ACCEPT\n" + // covered by 1 and 2 together
		"-A FORWARD -d 10.0.0.0/7 -j ACCEPT\n" + // alive: 11.0.0.0/8
		"-A FORWARD -i eth0 -j ACCEPT\n" +
		"-A FORWARD -s 192.0.2.0/24 -j DROP\n" + // alive: by other devices
		"-A FORWARD -j USED\n" +
		"-A FORWARD -j DROP\n" +
		"-A FORWARD -m mark --mark 0x1 -j ACCEPT\n" + // covered by 9
		"-A USED -p tcp -m tcp --tcp-flags FIN,SYN,RST,PSH,ACK,URG NONE -j DROP\n" +
		"-A USED -p tcp -m tcp --dport 81 -j RETURN\n" +
		"-A USED -p tcp -m tcp --dport 80:82 -j ACCEPT\n" +
		"-A USED -p tcp -m tcp --dport 81:82 -j ACCEPT\n" + // covered by 2 and 3
		"-A USED -p udp -m udp --dport 0:1000 -j ACCEPT\n-A USED -p udp -m udp --dport 1001:65535 -j ACCEPT\n" +
		"-A USED -p udp -j DROP\n" + // alive: fragments
		"-A USED -p udp -m multiport --dports 5,7 -j DROP\n" + // covered by 5
		"-A LOST -j ACCEPT\nCOMMIT\n"
	f := fatesOf(t, saved(t, text), nil)
	dead, err := f.Dead()
	require.NoError(t, err)
	var found []string
	for _, d := range dead {
		found = append(found, fmt.Sprint(d.Chain, " ", d.Number, " ", d.CoveredBy, " ", d.Unreferenced))
	}
	assert.ElementsMatch(t, []string{"FORWARD 3 [1] false", "FORWARD 4 [1 2] false", "FORWARD 10 [1 2 5 7 9] false", "USED 4 [2 3] false",
		"USED 8 [5 7] false", "LOST 1 [] true"},
		found)
}
