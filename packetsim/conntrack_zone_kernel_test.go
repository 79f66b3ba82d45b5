//go:build linux

package packetsim

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// TestTemplatesAsKernel sends a packet through rules with -j CT, and compares what each rule counted and the entries.
func TestTemplatesAsKernel(t *testing.T) {
	needKernel(t, "iptables-legacy-restore", "ip6tables-legacy-restore", "iptables-legacy-save", "ip6tables-legacy-save")
	lab := newCTLab(t)
	for _, row := range templateRows {
		p := lab.scene(t, netfilter.IPv4, templateRules(row.rules))
		p.forward(p.flow(inet.UDP, 40000, 80))
		p.sameCounts(t, row.name)
	}
	p := lab.scene(t, netfilter.IPv6, templateRules([]string{"-j CT", "-m connmark --mark 7", "-j CONNMARK --set-mark 7",
		"-m conntrack ! --ctorigsrc fd78:1::2"}))
	for sport := range uint16(3) {
		p.forward(p.flow(inet.UDP, 40000+sport, 80))
	}
	p.sameCounts(t, "the template's mark")
}

// sameCounts compares the counters of every rule.
func (p *ctPlay) sameCounts(t *testing.T, when string) {
	t.Helper()
	ours := savedCounters(t, p.host, p.family == netfilter.IPv6)
	assert.Equal(t, countedRules(p.lab.run(ctTool(p.family, "save"), "-c")), countedRules(ours), when)
}

// TestReverseConnectionAsKernel lets answers come in another zone than that in which conntrack waits for them.
func TestReverseConnectionAsKernel(t *testing.T) {
	needKernel(t, "iptables-legacy-restore", "ip6tables-legacy-restore")
	lab := newCTLab(t)
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		for _, side := range []string{"--zone", "--zone-orig", "--zone-reply"} {
			for _, proto := range []inet.Proto{inet.UDP, inet.TCP} {
				p := lab.scene(t, family, "*raw\n-A PREROUTING -i ctc -j CT "+side+" 1\nCOMMIT\n*nat\n-A POSTROUTING -p icmp -j MASQUERADE\nCOMMIT\n")
				p.forward(p.flow(proto, 40000, 80))
				back := p.flow(proto, 80, 40000)
				back.Src, back.Dst = back.Dst, back.Src
				p.exchange("server", back)
				p.forward(p.flow(proto, 40000, 80))
				p.exchange("server", back)
			}
		}
	}
}
