package match_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TestReads asks matches of which it depends on their options what they look at.
func TestReads(t *testing.T) {
	every, web := xtables.PortRange{Max: 65535}, xtables.PortRange{Min: 80, Max: 80}
	first := &xtables.AddrMatch{Addr: netip.MustParseAddr("10.96.0.1")}
	for name, row := range map[string]struct {
		m        xtables.Match
		reads    netfilter.Reading
		ports    []xtables.PortRange
		compares bool
	}{
		"a port":              {&match.TCP{SrcPorts: every, DstPorts: web}, 0, []xtables.PortRange{web}, true},
		"every port":          {&match.UDP{SrcPorts: every, DstPorts: every}, 0, nil, true},
		"every port but one":  {&match.UDP{SrcPorts: every, DstPorts: web, InvDst: true}, 0, nil, true},
		"an option of TCP":    {&match.TCP{SrcPorts: every, DstPorts: every, Option: 2}, netfilter.ReadsHeader, nil, false},
		"ports of the source": {&match.Multiport{Side: match.MultiportSource, Ports: []xtables.PortRange{web}}, 0, nil, true},
		"the state":           {&match.Conntrack{States: match.CTEstablished}, netfilter.ReadsConnection, nil, true},
		"whether NAT has translated it": {
			&match.Conntrack{States: match.CTDNAT}, netfilter.ReadsConnection | netfilter.ReadsTranslated, nil, true,
		},
		"its first destination":    {&match.Conntrack{OrigDst: first}, netfilter.ReadsConnection | netfilter.ReadsFirst, nil, true},
		"whose the source is":      {&match.Addrtype{SrcTypes: 1}, 0, nil, true},
		"whose the destination is": {&match.Addrtype{DstTypes: 1}, netfilter.ReadsHost, nil, true},
		"a draw":                   {&match.Statistic{Mode: match.StatisticRandom}, netfilter.ReadsDraw, nil, false},
		"every nth packet":         {&match.Statistic{Mode: match.StatisticNth}, netfilter.ReadsCount, nil, false},
	} {
		var r xtables.Reads
		row.m.AddReads(&r)
		assert.Equal(t, row.reads, r.Reading, name)
		assert.Equal(t, row.ports, r.DstPorts, name)
		assert.Equal(t, row.compares, r.Compares(), name)
	}
}
