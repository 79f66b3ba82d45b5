package match

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

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
		"a port":              {&TCP{SrcPorts: every, DstPorts: web}, 0, []xtables.PortRange{web}, true},
		"every port":          {&UDP{SrcPorts: every, DstPorts: every}, 0, nil, true},
		"every port but one":  {&UDP{SrcPorts: every, DstPorts: web, InvDst: true}, 0, nil, true},
		"an option of TCP":    {&TCP{SrcPorts: every, DstPorts: every, Option: 2}, netfilter.ReadsHeader, nil, false},
		"ports of the source": {&Multiport{Side: MultiportSource, Ports: []xtables.PortRange{web}}, 0, nil, true},
		"the state":           {&Conntrack{States: CTEstablished}, netfilter.ReadsConnection, nil, true},
		"whether NAT has translated it": {
			&Conntrack{States: CTDNAT}, netfilter.ReadsConnection | netfilter.ReadsTranslated, nil, true,
		},
		"its first destination":    {&Conntrack{OrigDst: first}, netfilter.ReadsConnection | netfilter.ReadsFirst, nil, true},
		"whose the source is":      {&Addrtype{SrcTypes: 1}, 0, nil, true},
		"whose the destination is": {&Addrtype{DstTypes: 1}, netfilter.ReadsHost, nil, true},
		"a draw":                   {&Statistic{Mode: StatisticRandom}, netfilter.ReadsDraw, nil, false},
		"every nth packet":         {&Statistic{Mode: StatisticNth}, netfilter.ReadsCount, nil, false},
	} {
		var r xtables.Reads
		row.m.AddReads(&r)
		assert.Equal(t, row.reads, r.Reading, name)
		assert.Equal(t, row.ports, r.DstPorts, name)
		assert.Equal(t, row.compares, r.Compares(), name)
	}
}
