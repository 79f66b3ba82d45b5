package packetsim

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// templateRows are rules of raw PREROUTING and what comes of a packet from a port above 1000: the entry's zone, and the numbers of the
// rules that matched. Seen on Linux 6.18; TestTemplatesAsKernel compares them.
var templateRows = []struct {
	name  string
	rules []string
	entry bool
	zone  conntrack.Zone
	match []int
}{
	{"CT before NOTRACK", []string{"-j CT", "-j CT --notrack"}, true, conntrack.Zone{}, []int{1, 2}},
	{"NOTRACK before CT", []string{"-j CT --notrack", "-j CT --zone 3"}, false, conntrack.Zone{}, []int{1, 2}},
	{"the first zone counts", []string{"-j CT --zone 3", "-j CT --zone 4"}, true, conntrack.Zone{Original: 3, Reply: 3}, []int{1, 2}},
	{"the mark counts when conntrack looks", []string{"-j CT --zone mark", "-j MARK --set-mark 6"}, true, conntrack.Zone{Original: 6,
		Reply: 6}, []int{1, 2}},
	{"a template is a new connection", []string{
		"-j CT", "-m conntrack --ctstate NEW", "-m state --state NEW", "-m conntrack --ctstate INVALID", "-m conntrack --ctstate UNTRACKED",
	}, true, conntrack.Zone{}, []int{1, 2, 3}},
	{"a template has no addresses and lives no longer", []string{
		"-j CT", "-m conntrack ! --ctexpire 200:500000", "-m conntrack --ctexpire 0", "-m conntrack ! --ctexpire 0",
		"-m conntrack --ctdir ORIGINAL",
		"-m conntrack --ctdir REPLY", "-m conntrack --ctstatus CONFIRMED", "-m conntrack --ctstatus ASSURED",
		"-m conntrack ! --ctstatus SEEN_REPLY",
		"-m conntrack --ctproto 17", "-m conntrack ! --ctproto 17", "-p udp -m conntrack ! --ctproto 17 --ctorigdstport 0",
		"-m connmark --mark 0",
	}, true, conntrack.Zone{}, []int{1, 2, 3, 5, 7, 9, 11, 12, 13}},
	{"nothing is asked of a packet without a template", []string{
		"-m conntrack ! --ctexpire 200:500000", "-m connmark --mark 0", "-m conntrack --ctstate INVALID",
	}, true, conntrack.Zone{}, []int{3}},
}

func templateRules(rules []string) string {
	text := "*raw\n:PREROUTING ACCEPT [0:0]\n"
	for _, rule := range rules {
		text += "-A PREROUTING " + rule + "\n"
	}
	return text + "COMMIT\n*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -p tcp -j MASQUERADE\nCOMMIT\n"
}

func TestTemplates(t *testing.T) {
	for _, row := range templateRows {
		t.Run(row.name, func(t *testing.T) {
			h, _ := testNode{rules4: templateRules(row.rules)}.build(t)
			o := step(t, h, "udp "+there)
			var match []int
			for _, s := range o.Steps {
				if s.Table == "raw" && s.Kind == StepRule {
					match = append(match, s.Number)
				}
			}
			assert.Equal(t, row.match, match)
			entries := h.Conntrack()
			assert.Equal(t, row.entry, len(entries) == 1)
			if len(entries) == 1 {
				assert.Equal(t, row.zone, entries[0].Zone)
			}
		})
	}
}

// TestTemplateKeepsItsMark: a rule has one template for all packets.
func TestTemplateKeepsItsMark(t *testing.T) {
	h, _ := testNode{rules4: templateRules([]string{"-j CT", "-m connmark --mark 7", "-j CONNMARK --set-mark 7"})}.build(t)
	count := func(packet string) int { return len(walkOne(t, h, packet).Steps) }
	first := count("udp " + there)
	assert.Equal(t, first, count("udp "+there), "a walk leaves nothing")
	step(t, h, "udp "+there)
	assert.Equal(t, first+1, count("udp 10.244.0.11:2000 > 10.244.0.12:80 in veth1"))
}

// TestReverseConnectionInAnotherZoneClashes: the answer's tuple is in another zone than the answer, which is a connection of its own then,
// but for one that cannot be in the table. The kernel looks for no other port.
func TestReverseConnectionInAnotherZoneClashes(t *testing.T) {
	h, _ := testNode{rules4: "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -m udp --sport 1000:65535 -j CT --zone-reply 1\nCOMMIT\n" +
		"*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -p tcp -j MASQUERADE\nCOMMIT\n"}.build(t)
	assert.Equal(t, Accept, step(t, h, "udp "+there).Verdict)
	assert.Equal(t, "drop connection clashes with another", brief(step(t, h, "udp "+back)))
	assert.Len(t, h.Conntrack(), 1)
}
