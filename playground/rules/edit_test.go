package rules

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/sample"
)

// typed are rules that somebody types in, with what makes a line more than one rule of its own: sets, chains that follow, texts over two
// lines, handles, devices, remarks.
const typed = `# written by hand
table inet fw {
	set banned {
		type ipv4_addr
		elements = { 192.0.2.9,
			192.0.2.10 }
	}

	chain input {
		type filter hook input priority filter; policy drop;
		ct state established,related accept
		iif "lo" accept
		iif "eth5" accept
		tcp dport 22 accept comment "a text
# over two lines"
		tcp dport 8080 reject with tcp reset
	}

	chain forward {
		type filter hook forward priority filter; policy accept;
		ip saddr @banned drop
		ct packets > 3 drop
		tcp dport { 80, 443 } \
			accept
		ip daddr 10.0.0.0/8 tcp dport 81 counter packets 0 bytes 0 drop # handle 99
		jump more
		udp dport 53 accept comment "names; and more"; udp dport 54 drop
		meta mark 0x1 accept
	}

	chain more {
		ip saddr 10.1.0.0/16 drop
		ip6 saddr fd00::/8 drop
		limit rate 3/second accept
		return
	}
}
table ip nat {
	chain prerouting {
		type nat hook prerouting priority dstnat; policy accept;
		ip daddr 203.0.113.2 tcp dport 80 dnat to 10.0.0.2:8080
		ip daddr 203.0.113.3 tcp dport 80 redirect to :8080
	}
}
`

// inLines is typed without what is written over two lines, which is always read anew.
var inLines = strings.NewReplacer("a text\n# over two lines", "a text", "\\\n\t\t\t", "").Replace(typed)

// savedRules are rules of iptables that somebody types in, with what makes a line more than a rule of its own: rules that do not tell their
// family, lists of addresses, matches that remember, extensions that are not known, chains with the name of a target.
const savedRules = `*nat
:PREROUTING ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
:WEB - [0:0]
-A PREROUTING -d 203.0.113.2/32 -p tcp -m comment --comment "shop/web:http cluster IP" -m tcp --dport 80 -j WEB
-A PREROUTING -d 203.0.113.3/32 -p tcp -m tcp --dport 80 -j REDIRECT --to-ports 8080
-A POSTROUTING -m mark --mark 0x4000/0x4000 -j MASQUERADE
-A WEB -s 10.1.0.0/16 -j MARK --set-xmark 0x4000/0x4000
-A WEB -p tcp -m tcp -j DNAT --to-destination 10.0.0.2:8080
COMMIT
*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [10:600]
:MORE - [0:0]
:LAST - [0:0]
-A INPUT -s 192.0.2.9,192.0.2.10 -j DROP
-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT
-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -i eth5 -j DROP
-A FORWARD -p tcp -m multiport --dports 80,443,8080 -j ACCEPT
-A FORWARD -d 10.0.0.0/8 -p tcp -m tcp --dport 81 -j MORE
-A FORWARD -p udp -m udp --dport 53 -m comment --comment "names -j DROP" -j ACCEPT
-A FORWARD -m recent --set --name seen --mask 255.255.255.255 --rsource
-A FORWARD -m unheard --of x -j DROP
-A FORWARD -m addrtype --dst-type LOCAL -j REJECT --reject-with icmp-port-unreachable
[5:300] -A FORWARD -p udp -m udp --dport 54 -j ACCEPT
-A MORE -s 10.1.0.0/16 -j DROP
-A MORE -j RETURN
COMMIT
`

// words are what hands put into rules.
func words() []string {
	return []string{" ", "#", "1", "8", "x", ";", "\"", "{", "}", "\n", "\\", "\t", " accept", " drop", " jump more", " goto forward",
		" @banned", " comment \"ünï\"", "tcp dport 80", "ip saddr 10.0.0.1", " counter", "# handle 3", "iif eth1 drop",
		" log", "ct packets 1 drop", "\n\ttable ", "dnat to 10.0.0.9", " snat to 10.0.0.9",
		" -j DROP", " -j MORE", " -g MORE", " -d 10.0.0.9", " -s 10.0.0.1,10.0.0.2", " ! -i eth0", " -p icmp", " -p ipv6-icmp", " -d fd00::1",
		" -m recent --set", " -m odd --x", "-A ", " -c 1 2", " -m comment --comment \"-j x\"", " --dport 80", " -m limit --limit 1/s", "COMMIT\n"}
}

// edit changes a text in one place, most often within a line.
func edit(r *rand.Rand, text string) string {
	at := r.IntN(len(text) + 1)
	switch r.IntN(8) {
	case 0, 1, 2:
		return text[:at] + words()[r.IntN(len(words()))] + text[at:]
	case 3, 4:
		return text[:at] + text[min(at+1+r.IntN(3), len(text)):]
	case 5: // a digit becomes another one, which keeps most rules what they are
		if next := strings.IndexAny(text[at:], "0123456789"); next >= 0 {
			return text[:at+next] + string(rune('0'+r.IntN(10))) + text[at+next+1:]
		}
		return text
	case 6: // a verdict becomes another one
		from := []string{" accept", " drop", " reject", " return"}
		if strings.HasPrefix(text, "*") {
			from = []string{" DROP", " ACCEPT", " RETURN", " MORE", " LOG", " tcp", " udp", " -d ", " -s "}
		}
		if old := from[r.IntN(len(from))]; strings.Contains(text[at:], old) {
			return text[:at] + strings.Replace(text[at:], old, from[r.IntN(len(from))], 1)
		}
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	i, j := r.IntN(len(lines)), r.IntN(len(lines))
	lines[i], lines[j] = lines[j], lines[i]
	return strings.Join(lines, "")
}

// said is all that the tab says of rules.
func said(tab *Tab, p Paste) []any {
	out := []any{tab.Read(p)}
	for _, packet := range []string{
		"tcp 10.1.0.1:40000 > 203.0.113.2:80 in eth0", "tcp 192.0.2.9:40000 > 10.0.0.9:81 in eth0", "udp 10.0.0.1:40000 > 10.0.0.2:53 in eth1",
		"tcp [fd00::1]:40000 > [2001:db8::1]:443 in eth0", "tcp 198.51.100.1:40000 > 192.168.0.1:22 in eth0", "icmp 192.168.0.1 > 10.0.0.1 local",
	} {
		out = append(out, tab.Walk(packet))
	}
	return append(out, tab.Named(), tryAll(tab, "tcp 10.0.0.1:1 > 10.0.0.2:81 in eth0"))
}

// equal compares what tabs say, part by part.
func equal(t *testing.T, want, got []any, of string) {
	t.Helper()
	for i := range want {
		require.Equal(t, want[i], got[i], "part %d of %s", i, of)
	}
}

// TestEditsAreFreshLoads has rules typed into, and compares all that the tab says with what a tab says that reads them for the first time.
// Some edits are taken back, as by those who see a mistake, so that rules that cannot be read stand between some that can.
func TestEditsAreFreshLoads(t *testing.T) {
	texts := []string{typed, inLines, strings.Join(strings.SplitAfter(thousand(true), "\n")[:30], "") + "\t}\n}\n",
		"*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -j LOG\nCOMMIT\n# more\n" + proxied,
		savedRules, savedRules, savedRules + proxied, strings.Join(strings.SplitAfter(thousand(false), "\n")[:30], "") + "COMMIT\n"}
	for _, name := range []string{"nftables.rules", "both-tools.rules"} {
		text, err := os.ReadFile(filepath.Join("../examples", name))
		require.NoError(t, err)
		texts = append(texts, string(text))
	}
	edits := 60 / sample.Every(3)
	kept, unreadable := 0, 0
	for seed, text := range texts {
		r := rand.New(rand.NewPCG(uint64(seed), 26))
		tab, p := &Tab{}, Paste{Text: text, Local: "192.168.0.1"}
		said(tab, p)
		for range edits {
			before := tab.readable
			again := p
			again.Text = edit(r, p.Text)
			if r.IntN(50) == 0 {
				again.Local += " 203.0.113.2"
			}
			got, fresh := said(tab, again), &Tab{}
			equal(t, said(fresh, again), got, p.Text+"\nbecomes\n"+again.Text)
			switch {
			case fresh.base == nil:
				unreadable++
			case tab.base == before:
				kept++
			}
			if fresh.base != nil && r.IntN(3) > 0 {
				p.Text = again.Text
			}
		}
	}
	t.Logf("of %d edits %d were made in what was there, and %d made rules that cannot be read", len(texts)*edits, kept, unreadable)
	assert.Greater(t, kept, len(texts)*edits/20)
	assert.Greater(t, unreadable, len(texts)*edits/20)
}

// TestRulesOfOneLineAreReplaced names edits of one line that are made in what was there, and some that must not be.
func TestRulesOfOneLineAreReplaced(t *testing.T) {
	for _, c := range []struct {
		what, was, is string
		kept          bool
	}{
		{"a port", "tcp dport 8080 reject", "tcp dport 8081 reject", true},
		{"a verdict", "ip6 saddr fd00::/8 drop", "ip6 saddr fd00::/8 accept", true},
		{"a comment", "fd00::/8 drop", `fd00::/8 drop comment "ours"`, true},
		{"a remark behind a rule", "fd00::/8 drop", `fd00::/8 drop # ours`, true},
		{"an address to translate to", "dnat to 10.0.0.2:8080", "dnat to 10.0.0.3:8080", true},
		{"a set", "tcp dport 8080 reject", "tcp dport { 8080, 8081 } reject", false},
		{"a rule that asks for a set", "@banned drop", "@banned accept", false},
		{"an element", "192.0.2.10", "192.0.2.11", false},
		{"what makes connections be counted", "tcp dport 8080 reject", "ct bytes > 8080 reject", false},
		{"a device", `iif "lo" accept`, `iif "eth7" accept`, false},
		{"two rules", "tcp dport 8080 reject", "tcp dport 8080 accept; drop", false},
		{"a loop", "ip6 saddr fd00::/8 drop", "ip6 saddr fd00::/8 jump more", false},
		{"a chain that is not there", "jump more", "jump less", false},
		{"a device that no other rule names", `iif "eth5" accept`, "accept", false},
		{"a rule that tells its handle", "tcp dport 81 counter", "tcp dport 82 counter", true},
		{"a handle", "# handle 99", "# handle 98", false},
		{"a new line", "return\n", "return\n\n", false},
	} {
		isEdited(t, c.what, inLines, c.was, c.is, c.kept)
	}
}

// isEdited has a text edited in one place, and says whether that is made in what was there. The tab says all that a new one says.
func isEdited(t *testing.T, what, text, was, is string, kept bool) {
	t.Helper()
	require.Equal(t, 1, strings.Count(text, was), what)
	tab := &Tab{}
	require.Empty(t, tab.Read(Paste{Text: text}).Problems)
	before := tab.base
	p := Paste{Text: strings.Replace(text, was, is, 1)}
	got := said(tab, p)
	assert.Equal(t, kept, tab.base == before, what)
	equal(t, said(&Tab{}, p), got, what)
}

// TestRulesOfIPTablesAreReplaced is TestRulesOfOneLineAreReplaced for what iptables-save prints.
func TestRulesOfIPTablesAreReplaced(t *testing.T) {
	for _, c := range []struct {
		what, was, is string
		kept          bool
	}{
		{"a port", "--dport 53", "--dport 52", true},
		{"a verdict", "-A MORE -s 10.1.0.0/16 -j DROP", "-A MORE -s 10.1.0.0/16 -j ACCEPT", true},
		{"no verdict", "-i eth5 -j DROP", "-i eth5", true},
		{"a device", "eth5", "eth6", true},
		{"a comment", "names -j DROP", "names", true},
		{"ports", "80,443,8080", "80,443", true},
		{"an address to translate to", "10.0.0.2:8080", "10.0.0.3:8080", true},
		{"what a mark is", "--set-xmark 0x4000/0x4000", "--set-xmark 0x8000/0x8000", true},
		{"a target", "-j REDIRECT --to-ports 8080", "-j DNAT --to-destination 10.0.0.2", true},
		{"a rule that leads to the same chain", "-d 10.0.0.0/8 -p tcp", "-d 10.0.0.0/9 -p tcp", true},
		{"a rule that leads elsewhere", "--dport 81 -j MORE", "--dport 81 -j LAST", false},
		{"a rule that goes to the same chain", "--dport 81 -j MORE", "--dport 81 -g MORE", false},
		{"a loop", "-A MORE -j RETURN", "-A MORE -j MORE", false},
		{"a chain that is not there", "-j MORE", "-j LESS", false},
		{"addresses of a rule", "192.0.2.9,192.0.2.10", "192.0.2.9,192.0.2.11", false},
		{"a chain in which a line makes two rules", "-A INPUT -p tcp", "-A INPUT -p udp", false},
		{"two addresses", "-i eth5", "-s 192.0.2.9,192.0.2.10", false},
		{"what remembers", "--name seen", "--name met", false},
		{"what will remember", "-i eth5", "-m recent --update", false},
		{"what is not known", "--of x", "--of y", false},
		{"what will not be known", "-i eth5", "-m odd", false},
		{"what tells another family", "-A FORWARD -i eth5", "-A FORWARD -p ipv6-icmp", false},
		{"what tells no family any more", "-j DNAT --to-destination 10.0.0.2:8080", "-j REDIRECT --to-ports 81", false},
		{"counters", "[5:300]", "[6:300]", false},
		{"another chain", "-A MORE -j RETURN", "-A LAST -j RETURN", false},
		{"a policy", ":FORWARD DROP", ":FORWARD ACCEPT", false},
		{"a mistake", "--dport 53", "--dprt 53", false},
		{"no rule any more", "-A MORE -j RETURN", "#A MORE -j RETURN", false},
		{"a new line", "-j RETURN\n", "-j RETURN\n\n", false},
	} {
		isEdited(t, c.what, savedRules, c.was, c.is, c.kept)
	}
	// Beside rules of nft, and of both families and tools, the line is found in its own.
	const other = "# Generated by ip6tables-save v1.8.9 (nf_tables) on Thu Jan  1 00:00:00 2026\n*filter\n:FORWARD ACCEPT [0:0]\n" +
		"-A FORWARD -p tcp -m tcp --dport 53 -j ACCEPT\nCOMMIT\n# Generated by iptables-save v1.8.9 on Thu\n"
	for _, text := range []string{savedRules + proxied, other + savedRules} {
		isEdited(t, "beside others", text, "udp --dport 53", "udp --dport 52", true)
	}
	odd := "*filter\n:INPUT ACCEPT [0:0]\n:LOG - [0:0]\n-A INPUT -s 10.0.0.1/32 -j LOG\n-A INPUT -s 10.0.0.2/32 -j DROP\nCOMMIT\n"
	isEdited(t, "a chain with the name of a target", odd, "10.0.0.2/32 -j DROP", "10.0.0.2/32 -j LOG", false)
	late := "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -s 10.0.0.2/32 -j DROP\n:LATE - [0:0]\n-A LATE -j DROP\nCOMMIT\n"
	isEdited(t, "a chain that is declared later", late, "10.0.0.2/32 -j DROP", "10.0.0.2/32 -j LATE", false)
}

// TestEditsThatAreMoreThanTheyLook: a handle that two rules have, as hands may write it, and a remark that says which tool has printed the
// rules of iptables beside those of nft.
func TestEditsThatAreMoreThanTheyLook(t *testing.T) {
	twice := "table ip t {\n\tchain c {\n\t\ttype filter hook forward priority 0\n\t\ttcp dport 80 drop # handle 4\n" +
		"\t\tip daddr 203.0.113.2 accept # handle 4\n\t}\n}\n"
	const saved = "# Generated by iptables-save v1.8.9 on Thu Jan  1 00:00:00 2026\n*filter\n:FORWARD DROP [0:0]\nCOMMIT\n"
	for _, c := range []struct{ text, was, is string }{
		{twice, "203.0.113.2 accept", "203.0.113.2 drop"},
		{saved + proxied, "iptables-save", "ip6tables-save"},
	} {
		require.Equal(t, 1, strings.Count(c.text, c.was))
		tab := &Tab{}
		require.Empty(t, tab.Read(Paste{Text: c.text}).Problems)
		p := Paste{Text: strings.Replace(c.text, c.was, c.is, 1)}
		got := said(tab, p)
		equal(t, said(&Tab{}, p), got, p.Text)
	}
}

// TestNoLineIsMarkedInsteadOfAnother: the second address of a list makes the second rule of the chain, which its second line does not.
func TestNoLineIsMarkedInsteadOfAnother(t *testing.T) {
	tab := &Tab{}
	require.Empty(t, tab.Read(Paste{Text: savedRules, Local: "192.168.0.1"}).Problems)
	walked := tab.Walk("tcp 192.0.2.10:40000 > 192.168.0.1:22 in eth0")
	require.Nil(t, walked.Problem)
	assert.Empty(t, walked.Lines)
}
