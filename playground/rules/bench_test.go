package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// thousand are a thousand rules in a chain that all packets go through, as iptables-save prints them or as nft does.
func thousand(nft bool) string {
	var b strings.Builder
	line, end := "-A FORWARD -d 10.%d.%d.1/32 -p tcp -m tcp --dport 80 -m comment --comment \"rule %d\" -j DROP\n", "COMMIT\n"
	b.WriteString("*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n")
	if nft {
		b.Reset()
		b.WriteString("table ip filter {\n\tchain FORWARD {\n\t\ttype filter hook forward priority filter; policy accept;\n")
		line, end = "\t\tip daddr 10.%d.%d.1 tcp dport 80 drop comment \"rule %d\"\n", "\t}\n}\n"
	}
	for i := range 1000 {
		fmt.Fprintf(&b, line, i/250, i%250, i)
	}
	return b.String() + end + "#\n"
}

// BenchmarkKey is what the worker does for a key at 1,000 rules: of a packet that the last rule is about, and of a rule in the middle,
// after which the packet is walked too. Other keys have all rules read anew.
func BenchmarkKey(b *testing.B) {
	for _, nft := range []bool{false, true} {
		text := thousand(nft)
		name := map[bool]string{false: "iptables", true: "nft"}[nft]
		b.Run(name+"/packet", func(b *testing.B) {
			tab := &Tab{}
			require.Empty(b, tab.Read(Paste{Text: text}).Problems)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				require.Nil(b, tab.Walk(fmt.Sprintf("tcp 10.0.0.1:%d > 10.3.200.1:80 in eth0", 40000+i%10)).Problem)
			}
		})
		for _, fresh := range []bool{false, true} {
			b.Run(name+map[bool]string{false: "/rules", true: "/rules read anew"}[fresh], func(b *testing.B) {
				tab := &Tab{}
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if fresh {
						tab = &Tab{}
					}
					changed := strings.Replace(text, `"rule 500"`, fmt.Sprintf(`"rule 500 %d"`, i%10), 1)
					require.Empty(b, tab.Read(Paste{Text: changed}).Problems)
					require.Nil(b, tab.Walk("tcp 10.0.0.1:40000 > 10.3.200.1:80 in eth0").Problem)
				}
			})
		}
	}
}

// TestKeySpellsNoRuleAgain holds what a key allocates at 1,000 rules, which a machine that is busy does not change: a packet that misses
// the same rules as the one before has none of them spelled again, and rules are read once.
func TestKeySpellsNoRuleAgain(t *testing.T) {
	for _, c := range []struct {
		nft                 bool
		packet, rules, edit float64 // of each rule
	}{{false, 15, 40, 16}, {true, 15, 140, 16}} {
		tab, text := &Tab{}, thousand(c.nft)
		read := testing.AllocsPerRun(3, func() { tab = &Tab{}; tab.Read(Paste{Text: text}) })
		const packet = "tcp 10.0.0.1:40000 > 10.3.200.1:80 in eth0"
		first := testing.AllocsPerRun(1, func() { tab = &Tab{}; tab.Read(Paste{Text: text}); require.Nil(t, tab.Walk(packet).Problem) })
		walk := testing.AllocsPerRun(3, func() { require.Nil(t, tab.Walk(packet).Problem) })
		n := 0
		edit := testing.AllocsPerRun(3, func() {
			n++
			tab.Read(Paste{Text: strings.Replace(text, `"rule 500"`, fmt.Sprintf(`"rule 500 %d"`, n), 1)})
			require.Nil(t, tab.Walk(packet).Problem)
		})
		t.Logf("nft %-5v allocations of a rule: %.1f to read, %.1f to read and walk first, %.1f to walk again, %.1f to change one and walk",
			c.nft, read/1000, first/1000, walk/1000, edit/1000)
		assert.LessOrEqual(t, walk/1000, c.packet, "nft %v: a key in the packet", c.nft)
		assert.LessOrEqual(t, first/1000, c.rules, "nft %v: rules that are read anew", c.nft)
		assert.LessOrEqual(t, edit/1000, c.edit, "nft %v: a key in a rule", c.nft)
	}
}
