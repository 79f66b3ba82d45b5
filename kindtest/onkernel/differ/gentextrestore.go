package differ

import (
	"fmt"
	"strings"
)

// restore is a run of iptables-restore.
func (g *textGen) restore() textStep {
	s := textStep{Argv: []string{g.name("iptables-restore")}}
	for range g.r.IntN(3) {
		s.Argv = append(s.Argv, strings.Fields(g.oneOf("-n", "-n", "--noflush", "-n", "-c", "--counters", "-t", "--test", "-v", "-w", "-w 5",
			"-T nat", "-T filter", "--table mangle", "-V", "-W 100 -w", "--wait=3", "-nc", "-x"))...)
	}
	s.Stdin = g.restoreInput()
	for g.chance(40) {
		s.Stdin = g.damage(s.Stdin)
	}
	return s
}

// restoreInput is whole input of one or two tables.
func (g *textGen) restoreInput() string {
	var b strings.Builder
	for range 1 + g.r.IntN(2) {
		t := tableHooks[g.r.IntN(len(tableHooks))]
		b.WriteString("*" + t.table + "\n")
		for _, h := range t.hooks {
			if g.chance(40) {
				fmt.Fprintf(&b, ":%s %s [%d:%d]\n", h, g.oneOf("ACCEPT", "ACCEPT", "DROP"), g.r.IntN(3), g.r.IntN(300))
			}
		}
		for _, c := range textChains {
			if g.chance(60) {
				fmt.Fprintf(&b, ":%s - [%d:0]\n", c, g.r.IntN(2))
			}
		}
		for range g.r.IntN(6) {
			b.WriteString(g.ruleLine(t.table, t.hooks) + "\n")
		}
		if g.chance(90) {
			b.WriteString("COMMIT\n")
		}
	}
	return b.String()
}

// textChains are the user chains; the last is rarely there.
var textChains = []string{"A", "B", "KUBE-SVC-ABCDEFGHIJKLMNOP", "chain-of-28-characters-abcde"}

// ruleLine is a command of restore.
func (g *textGen) ruleLine(table string, hooks []string) string {
	chain := g.oneOf(append(textChains[:len(textChains):len(textChains)], hooks...)...)
	counters := ""
	if g.chance(15) {
		counters = fmt.Sprintf("[%d:%d] ", g.r.IntN(100), g.r.IntN(10000))
	}
	switch n := g.r.IntN(100); {
	case n < 70:
		return counters + "-A " + chain + g.words(table, hooks, chain)
	case n < 80:
		return counters + "-I " + chain + g.oneOf("", " 1", " 2") + g.words(table, hooks, chain)
	case n < 90:
		return counters + g.oneOf("-D ", "-C ") + chain + g.oneOf(" 1", g.words(table, hooks, chain))
	case n < 94:
		return "-R " + chain + " 1" + g.words(table, hooks, chain)
	}
	return g.oneOf("-F "+chain, "-F", "-X "+chain, "-N "+chain, "-Z", "-Z "+chain, "-P "+chain+" DROP", "-X", "-E A B", "# a comment", "")
}

// words are the conditions and the target of a rule, legal in the chain if it is a built-in one.
func (g *textGen) words(table string, hooks []string, chain string) string {
	c := ruleChain{name: chain, hooks: []string{chain}}
	for _, name := range textChains {
		if name == chain {
			c.user, c.hooks = true, hooks[:1]
		}
	}
	if g.chance(8) { // a piece that may be illegal here
		table = tableHooks[g.r.IntN(len(tableHooks))].table
	}
	later := []ruleChain{{name: "A", user: true, hooks: hooks}, {name: "B", user: true, hooks: hooks}}
	words := g.rule(table, &c, later)
	if g.chance(25) {
		words += " " + g.oneOf(textExtras...)
	}
	return words
}

// textExtras are further words of rules, right and wrong.
var textExtras = []string{
	"-f", "! -f", "-s 10.0.0.0/255.0.255.0", "-s 1.1.1.1,2.2.2.2", "-d 10.1/16", "-s 0/0", "-d ::/0", "-p all", "-p 99", "! -p 0", "-p esp",
	"-m tcp", "-m udp --dport 1:2:3",
	"--dport 80", "--sport 99999", "--dport http", "--dport :1024", "-m multiport --ports 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
	"-m comment --comment \"a \\\"quoted\\\" word\"",
	"-m comment --comment ''", "-m comment --comment \"x", "--comment y", "-j NOPE", "-g NOPE", "-j A", "-j INPUT", "-m nope", "-c 5 6",
	"-c 5", "--set-counters 1 2",
	"-m mark --mark 4294967296", "-m mark --mark -1", "-m mark --mark 0x1/", "-m statistic --mode random --probability 1.5",
	"-m statistic --mode random", "-m statistic --mode nth --every 0 --packet 0",
	"-m recent --name x", "-m recent --set --rcheck", "-m recent --rcheck --hitcount 300", "-m conntrack --ctstate FOO",
	"-m conntrack --ctstate", "-m addrtype", "-m addrtype --dst-type FOO",
	"-i toolongdevicename", "-i eth+ -o lo", "-i ''", "-o a/b", "-m nfacct --nfacct-name cw-one", "-m nfacct --nfacct-name cw-none",
	"-j REJECT --reject-with nonsense", "-j REJECT --reject-with tcp-reset",
	"-j DNAT", "-j DNAT --to-destination 1.2.3.4:99999", "-j DNAT --to-destination x", "-j SNAT --to-source 1.2.3.4-1.2.3.1",
	"-j MASQUERADE --to-ports 5-4", "-j MARK", "-j MARK --set-mark 1 --or-mark 2",
	"-j NFQUEUE --queue-num 5", "-j NFQUEUE --queue-balance 1:3 --queue-bypass", "-j NFQUEUE --queue-num x", "-j CT --helper ftp",
	"-j CT --ctevents new,mark", "-j CT --zone 99999", "-j SET --map-set cwip src", "-j SET --exist",
	"-j LOG --log-uid --log-tcp-options", "-j NFLOG --nflog-size 5 --nflog-threshold 6", "-j TCPMSS --set-mss 99999",
	"-j TPROXY --on-port 1 --on-ip x", "-j CONNMARK", "-m multiport --dports 1:", "-m owner --uid-owner 5-4", "-m physdev",
	"-m hashlimit --hashlimit-upto 1/s", "-m hashlimit --hashlimit-name h", "-m socket --restore-skmark", "-m rpfilter --loose",
	"-m conntrack --ctexpire 5:4", "-m recent --rttl", "-m mac --mac-source 0:1:2", "-m pkttype --pkt-type host",
	"-j LOG --log-level nine", "-j LOG --log-prefix \"a prefix that is much longer than\"", "-j TRACE", "-j ACCEPT -j DROP", "-j QUEUE",
	"-g QUEUE", "-4", "-6", "-v", "-n", "--line-numbers", "-t nat", "-w", "!", "! !", "--", "-", "-A A", "word",
	"-m set --match-set cwip src", "-m set --match-set nope src", "-m set --match-set cwip", "-m limit --limit 5/second",
	"-m limit --limit 0/second", "-m limit --limit-burst 0", "-m length --length 5:1", "-m iprange --src-range 1.1.1.1",
}
