package fakeipt

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Pieces of rules of the generator. Each is good by itself; together they may be refused.
var (
	genTables = []string{"filter", "nat", "mangle", "raw"}
	genChains = []string{"A", "B", "C", "INPUT", "FORWARD", "OUTPUT", "PREROUTING", "POSTROUTING"}
	genHeads  = []string{"", "-p tcp", "-p udp", "! -p tcp", "-p sctp", "-p icmp", "-i eth0", "! -i veth+", "-o lo", "-f", "-p 99"}
	genAddrs  = []string{"", "-s 10.0.0.0/8", "! -d 10.1.2.3", "-s 1.2.3.4/255.0.255.0 -d 10.96.0.1", "-s 1.1.1.1,2.2.2.2", "-d 0.0.0.0/0",
		"-s 10.1/16"}
	genMatches = []string{"", "--dport 80", "-m tcp ! --sport 1:1023", "-m tcp --tcp-flags SYN,ACK SYN", "-m udp --dport 53",
		"-m sctp --dport 5",
		"-m comment --comment \"a b\"", "-m comment --comment x", "-m mark --mark 0x4000/0x4000", "-m mark ! --mark 7",
		"-m conntrack --ctstate NEW,RELATED", "-m conntrack ! --ctstate DNAT", "-m state --state ESTABLISHED",
		"-m addrtype --dst-type LOCAL", "-m addrtype --src-type LOCAL --limit-iface-out", "-m statistic --mode random --probability 0.33333",
		"-m statistic --mode nth --every 3 --packet 1", "-m recent --set --name r", "-m recent --rcheck --seconds 60 --reap --name r",
		"-m recent --remove --seconds 5", "-m multiport --dports 80,443:444", "-m nfacct --nfacct-name there", "-m nfacct --nfacct-name gone",
		"-p icmp --icmp-type echo-request", "-m tcp", "-m nonesuch", "--nonesuch 1",
		"-m physdev --physdev-is-bridged --physdev-out e0", "-m physdev --physdev-out e0", "-m limit --limit 7/min --limit-burst 3",
		"-m limit --limit 1/day",
		"-m hashlimit --hashlimit-upto 9/sec --hashlimit-mode srcip --hashlimit-name h",
		"-m hashlimit --hashlimit-above 5kb/s --hashlimit-name b",
		"-m iprange ! --src-range 10.0.0.1-10.0.0.9", "-m owner --uid-owner 12345-23456", "-m pkttype --pkt-type broadcast",
		"-m mac --mac-source 0:1:2:3:4:5",
		"-m length --length 40:100", "-m socket --transparent", "-m rpfilter --loose", "-m connmark ! --mark 1/3",
		"-m sctp --chunk-types any DATA:B,INIT",
		"-m set --match-set s src", "-m set ! --match-set s dst,src --return-nomatch", "-m set --match-set gone src",
		"-m conntrack --ctproto 6 --ctexpire 5: --ctdir REPLY --ctorigsrc 10.0.0.0/8", "-m tcp --tcp-option 5 --syn",
		"-m multiport --ports 1:5,9"}
	genTargets = []string{"", "-j ACCEPT", "-j DROP", "-j RETURN", "-j A", "-j B", "-g C", "-j D", "-j REJECT",
		"-j REJECT --reject-with tcp-reset",
		"-j DNAT --to-destination 10.0.0.1", "-j DNAT --to-destination 10.0.0.1:80-90", "-j SNAT --to-source 1.2.3.4", "-j MASQUERADE",
		"-j MASQUERADE --random-fully", "-j REDIRECT --to-ports 8080", "-j MARK --or-mark 0x4000", "-j MARK --set-mark 5",
		"-j CONNMARK --save-mark", "-j LOG --log-prefix \"p \"", "-j NOTRACK", "-j TRACE", "-j INPUT",
		"-j CT --notrack", "-j CT --zone 5", "-j CT --helper ftp", "-j NETMAP --to 10.0.0.0/16",
		"-j NFLOG --nflog-group 3 --nflog-prefix \"p q\"",
		"-j NFQUEUE --queue-balance 1:3 --queue-bypass", "-j TPROXY --on-port 5", "-j TCPMSS --clamp-mss-to-pmtu", "-j TCPMSS --set-mss 9",
		"-j CHECKSUM --checksum-fill", "-j SET --add-set s src", "-j SET --map-set s dst --map-prio",
		"-j CONNMARK --restore-mark --right-shift-mark 3",
		"-j SNAT --to-source 1.2.3.4-1.2.3.9:5-9 --persistent", "-j LOG --log-level warning --log-uid"}
	genOps = []string{"-A", "-A", "-A", "-A", "-I", "-D"}
)

// genSets are the sets that generated rules name.
const genSets = "create s hash:ip\n"

// genRestore draws restore input: a few chains and rules of one or two tables.
func genRestore(t *rapid.T) string {
	var b strings.Builder
	for range rapid.IntRange(1, 2).Draw(t, "tables") {
		b.WriteString("*" + rapid.SampledFrom(genTables).Draw(t, "table") + "\n")
		for _, c := range []string{"A", "B", "C"} {
			if rapid.IntRange(0, 3).Draw(t, "declared") > 0 {
				b.WriteString(":" + c + " - [0:0]\n")
			}
		}
		for range rapid.IntRange(0, 6).Draw(t, "rules") {
			words := []string{rapid.SampledFrom(genOps).Draw(t, "op"), rapid.SampledFrom(genChains).Draw(t, "chain")}
			for _, pieces := range [][]string{genHeads, genAddrs, genMatches, genTargets} {
				if w := rapid.SampledFrom(pieces).Draw(t, "piece"); w != "" {
					words = append(words, w)
				}
			}
			b.WriteString(strings.Join(words, " ") + "\n")
		}
		if rapid.IntRange(0, 9).Draw(t, "delete") == 0 {
			b.WriteString("-X A\n")
		}
		b.WriteString("COMMIT\n")
	}
	return b.String()
}

// saveAll writes the ruleset as iptables-save prints it, without the lines that have a date.
func saveAll(rs *ruleset.Ruleset, w io.Writer, o ruleset.SaveOptions) error {
	for _, t := range rs.Tables() {
		if err := t.Save(w, rs, o); err != nil {
			return err
		}
	}
	return nil
}

func saved(t require.TestingT, k *Kernel, f netfilter.Family) string {
	var b bytes.Buffer
	require.NoError(t, saveAll(k.Ruleset(f), &b, ruleset.SaveOptions{Counters: true}))
	return b.String()
}

func TestSavedRulesetLoadsAsItself(t *testing.T) {
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		rapid.Check(t, func(t *rapid.T) {
			k := New(Options{Dialect: d})
			require.NoError(t, k.Namespace().Accounts().Add("there"))
			require.NoError(t, k.LoadSets("sets", strings.NewReader(genSets)))
			for range 3 {
				k.Run([]string{"iptables-restore", "-n"}, strings.NewReader(genRestore(t)), &bytes.Buffer{}, &bytes.Buffer{})
			}
			text := saved(t, k, netfilter.IPv4)
			again := New(Options{Dialect: d})
			require.NoError(t, again.LoadSets("sets", strings.NewReader(genSets)))
			require.NoError(t, again.Load(netfilter.IPv4, "saved", strings.NewReader(text)), text)
			require.Equal(t, text, saved(t, again, netfilter.IPv4))
		})
	}
}

// TestCountsAreWhatAFullCountSays holds the incremental counts against counting from nothing.
func TestCountsAreWhatAFullCountSays(t *testing.T) {
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		rapid.Check(t, func(t *rapid.T) {
			k := New(Options{Dialect: d})
			for range 4 {
				k.Run([]string{"iptables-restore", "-n"}, strings.NewReader(genRestore(t)), &bytes.Buffer{}, &bytes.Buffer{})
				text := saved(t, k, netfilter.IPv4)
				for _, table := range k.Ruleset(netfilter.IPv4).Tables() {
					for c := range table.Chains() {
						require.Equal(t, countJumps(table, c.Name), table.References(c.Name), "references of %s in\n%s", c.Name, text)
					}
				}
			}
		})
	}
}

func countJumps(t *ruleset.Table, chain string) int {
	n := 0
	for c := range t.Chains() {
		for _, r := range c.Rules {
			if j, ok := r.Target.(*xtables.Jump); ok && j.Chain == chain {
				n++
			}
		}
	}
	return n
}

func TestOldRulesetStaysAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := New(Options{})
		k.Run([]string{"iptables-restore"}, strings.NewReader(genRestore(t)), &bytes.Buffer{}, &bytes.Buffer{})
		old := k.Ruleset(netfilter.IPv4)
		var before, after bytes.Buffer
		require.NoError(t, saveAll(old, &before, ruleset.SaveOptions{Counters: true}))
		k.Run([]string{"iptables-restore", "-n"}, strings.NewReader(genRestore(t)), &bytes.Buffer{}, &bytes.Buffer{})
		k.Run([]string{"iptables", "-Z"}, nil, &bytes.Buffer{}, &bytes.Buffer{})
		require.NoError(t, saveAll(old, &after, ruleset.SaveOptions{Counters: true}))
		require.Equal(t, before.String(), after.String())
	})
}

func FuzzRestore(f *testing.F) {
	f.Add("*nat\n:A - [0:0]\n[1:2] -A A -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.0.0.1:80\nCOMMIT\n", true)
	f.Add("*filter\n-A INPUT -m comment --comment \"a \\\" b\" -j REJECT\nCOMMIT\n", false)
	f.Add("*filter\n:INPUT ACCEPT [0:0]\n-A INPUT \x00 -j\nCOMMIT", false)
	f.Fuzz(func(t *testing.T, input string, nft bool) {
		d := netfilter.Legacy
		if nft {
			d = netfilter.NFT
		}
		k := New(Options{Dialect: d})
		var stdout, stderr bytes.Buffer
		status := k.Run([]string{"iptables-restore", "-c"}, strings.NewReader(input), &stdout, &stderr)
		if status != 0 {
			require.NotEmpty(t, stderr.String())
		}
		requireLoadsAgain(t, k, d)
	})
}

// requireLoadsAgain fails if what is saved does not load, or as something else.
func requireLoadsAgain(t *testing.T, k *Kernel, d netfilter.Dialect) {
	text := saved(t, k, netfilter.IPv4)
	for line := range strings.Lines(text) {
		if !strings.ContainsAny(line[:1], "*:[C") {
			// The tools save a line's end in a comment as it is, and do not read that back.
			return
		}
	}
	again, err := LoadSave(netfilter.IPv4, d, "saved", strings.NewReader(text))
	require.NoError(t, err, text)
	require.Equal(t, text, saved(t, again, netfilter.IPv4))
}

func FuzzCommand(f *testing.F) {
	f.Add("-A INPUT -p tcp --dport 80 -j ACCEPT")
	f.Add("-t nat -I OUTPUT 1 -d 10.0.0.1 -j DNAT --to-destination [::1]:80")
	f.Add("-w 5 -W 1000 -L -nvx --line-numbers")
	f.Fuzz(func(t *testing.T, line string) {
		argv := append([]string{"ip6tables"}, strings.Fields(line)...)
		for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
			var stdout, stderr bytes.Buffer
			if status := New(Options{Dialect: d}).Run(argv, nil, &stdout, &stderr); status != 0 {
				require.NotEmpty(t, stderr.String())
			}
		}
	})
}
