package differ

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// chanceSends is how many packets of a chance case draw.
const chanceSends = 250

// chanceCase is a service with endpoints that are drawn, as kube-proxy writes it, and rules of other probabilities, met by many
// connections.
func (g *gen) chanceCase(d netfilter.Dialect) *walkCase {
	var b strings.Builder
	b.WriteString("*raw\n:PREROUTING ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n-A PREROUTING -j TRACE\n-A OUTPUT -j TRACE\nCOMMIT\n" +
		"*mangle\nCOMMIT\n" +
		"*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n" +
		":SVC - [0:0]\n-A PREROUTING -p udp -j SVC\n")
	endpoints := []string{g.w.servers[0].String(), g.w.servers[1].String(), g.w.clients[0].String(), g.w.clients[1].String()}
	for i, to := range endpoints {
		random := ""
		if left := len(endpoints) - i; left > 1 {
			random = fmt.Sprintf(" -m statistic --mode random --probability %.11f", 1/float64(left))
		}
		fmt.Fprintf(&b, "-A SVC -p udp%s -j DNAT --to-destination %s\n", random, g.withPort(to, "8080"))
	}
	b.WriteString("COMMIT\n*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n" +
		"-A FORWARD -m statistic --mode random --probability 0.10000000009\n" +
		"-A FORWARD -m statistic --mode random ! --probability 0.75000000000\nCOMMIT\n")
	c := &walkCase{Dialect: d, Family: int(g.w.family), Rules: b.String()}
	for n := range chanceSends {
		from := netip.AddrPortFrom(g.w.clients[0], uint16(20000+n))
		to := netip.AddrPortFrom(g.w.services[0], 80)
		c.Sends = append(c.Sends, send{From: clientPlace, Packet: fmt.Sprintf("udp %s > %s", from, to)})
	}
	return c
}
