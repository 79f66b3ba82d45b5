package forall_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// TestSetsThatMayBeFull: whether a set has room for what a packet adds is not known where it may have added to it before.
func TestSetsThatMayBeFull(t *testing.T) {
	in, err := inet.ParseInput("tcp 192.0.2.1:1000 > 172.18.0.3:80 in eth0")
	require.NoError(t, err)
	const source, both = "add @s { ip saddr } accept", "add @s { ip saddr }\n\t\tadd @s { ip daddr } accept"
	for name, row := range map[string]struct {
		size, elements, rules string
		replies, known        bool
	}{
		"room":                   {"size 1;", "", source, false, true},
		"no limit":               {"", "", both, true, true},
		"none":                   {"size 1;", " elements = { 192.0.2.9 };", source, false, false},
		"for one":                {"size 1;", "", both, false, false},
		"for many":               {"size 100;", "", both, true, true},
		"for a packet's alone":   {"size 1;", "", source, true, false},
		"all but one are there":  {"size 2;", " elements = { 192.0.2.9 };", source, false, true},
		"elements that are gone": {"size 2;", " elements = { 192.0.2.9 };", "delete @s { ip saddr } accept", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			text := "table ip f {\n\tset s { type ipv4_addr; flags dynamic; " + row.size + row.elements + " }\n"
			for _, hook := range []string{"input", "output"} {
				text += "\tchain " + hook + " {\n\t\ttype filter hook " + hook + " priority 0; policy drop;\n\t\t" + row.rules + "\n\t}\n"
			}
			h, err := snapshot.HostOfSave("rules", strings.NewReader(text+"}\n"),
				snapshot.RulesOptions{Local: []netip.Addr{netip.MustParseAddr("172.18.0.3")}})
			require.NoError(t, err)
			f, err := forall.Of(h, forall.Options{Families: only4, Replies: row.replies})
			require.NoError(t, err)
			d, err := f.At(in)
			require.NoError(t, err)
			assert.Equal(t, row.known, !strings.Contains(d.String(), "room"), d.String())
		})
	}
}
