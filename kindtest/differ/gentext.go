package differ

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// textGen makes tool runs, whole and damaged.
type textGen struct {
	*gen
	dialect fakeipt.Dialect
	ipset   bool           // the fake has it
	dropped map[string]int // reason to the number of runs that are not made
}

// session makes the runs of one namespace. Each change is followed by a look at the ruleset.
func (g *textGen) session() []textStep {
	g.serial = 0
	var steps []textStep
	steps = append(steps, textStep{Argv: []string{"nfacct", "add", "cw-one"}})
	if g.ipset {
		steps = append(steps, textStep{Argv: []string{"ipset", "restore"}, Stdin: g.w.sets()})
	}
	for range 2 + g.r.IntN(5) {
		s := g.step()
		if reason := harmful(&s); reason != "" {
			g.dropped[reason]++
			continue
		}
		steps = append(steps, s)
		if !strings.Contains(s.Argv[0], "save") && !strings.HasPrefix(s.Argv[0], "nfacct") && !strings.HasPrefix(s.Argv[0], "ipset") {
			steps = append(steps, textStep{Argv: []string{g.name("iptables-save"), "-c"}})
		}
	}
	return steps
}

// harmful is the reason why a run is not made.
func harmful(s *textStep) string {
	tool, args, words := s.Argv[0], s.Argv[1:], strings.Join(s.Argv[1:], " ")
	switch {
	case strings.ContainsRune(words, 0):
		return "no program can be given a NUL"
	case tool == "nfacct":
		if len(args) > 0 && args[0] != "" && strings.Index("monitor", args[0]) == 0 {
			return "nfacct monitor waits for ever"
		}
	case tool == "ipset":
		if writesFile.MatchString(words) || writesFile.MatchString(s.Stdin) {
			return "ipset -f writes a file of that name"
		}
		if slices.Contains(args, "-") || slices.Contains(strings.Fields(s.Stdin), "-") {
			return "ipset - waits for somebody to type"
		}
	case startsProgram.MatchString(words) || startsProgram.MatchString(s.Stdin):
		return "-M would start a program"
	}
	return ""
}

var (
	// startsProgram is -M or --modprobe, which may be cut short.
	startsProgram = regexp.MustCompile(`(^|[\s"])(-[a-zA-Z0-9]*M|--mod?(p[a-z]*)?([=\s"]|$))`)
	// writesFile is -f of ipset.
	writesFile = regexp.MustCompile(`(^|[\s"])--?f(ile)?([\s"]|$)`)
)

func (g *textGen) name(of string) string { return tool(of, g.dialect, g.w.family) }

func (g *textGen) step() textStep {
	switch n := g.r.IntN(100); {
	case n < 47:
		return g.restore()
	case n < 82:
		return g.command()
	case n < 88:
		return g.nfacct()
	case n < 96 && g.ipset:
		return g.setCommand()
	default:
		return textStep{Argv: append([]string{g.name("iptables-save")}, strings.Fields(g.oneOf("", "-c", "-t nat", "-t filter -c", "-c -t mangle", "-t nope", "--table raw", "--counters", "-V", "-f /dev/null", "-c -f /no/folder/x", "--file /dev/null -t nat", "-M", "-x", "word", "-t"))...)}
	}
}

// restore is a run of iptables-restore.
func (g *textGen) restore() textStep {
	s := textStep{Argv: []string{g.name("iptables-restore")}}
	for range g.r.IntN(3) {
		s.Argv = append(s.Argv, strings.Fields(g.oneOf("-n", "-n", "--noflush", "-n", "-c", "--counters", "-t", "--test", "-v", "-w", "-w 5", "-T nat", "-T filter", "--table mangle", "-V", "-W 100 -w", "--wait=3", "-nc", "-x"))...)
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
	"-f", "! -f", "-s 10.0.0.0/255.0.255.0", "-s 1.1.1.1,2.2.2.2", "-d 10.1/16", "-s 0/0", "-d ::/0", "-p all", "-p 99", "! -p 0", "-p esp", "-m tcp", "-m udp --dport 1:2:3",
	"--dport 80", "--sport 99999", "--dport http", "--dport :1024", "-m multiport --ports 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", "-m comment --comment \"a \\\"quoted\\\" word\"",
	"-m comment --comment ''", "-m comment --comment \"x", "--comment y", "-j NOPE", "-g NOPE", "-j A", "-j INPUT", "-m nope", "-c 5 6", "-c 5", "--set-counters 1 2",
	"-m mark --mark 4294967296", "-m mark --mark -1", "-m mark --mark 0x1/", "-m statistic --mode random --probability 1.5", "-m statistic --mode random", "-m statistic --mode nth --every 0 --packet 0",
	"-m recent --name x", "-m recent --set --rcheck", "-m recent --rcheck --hitcount 300", "-m conntrack --ctstate FOO", "-m conntrack --ctstate", "-m addrtype", "-m addrtype --dst-type FOO",
	"-i toolongdevicename", "-i eth+ -o lo", "-i ''", "-o a/b", "-m nfacct --nfacct-name cw-one", "-m nfacct --nfacct-name cw-none", "-j REJECT --reject-with nonsense", "-j REJECT --reject-with tcp-reset",
	"-j DNAT", "-j DNAT --to-destination 1.2.3.4:99999", "-j DNAT --to-destination x", "-j SNAT --to-source 1.2.3.4-1.2.3.1", "-j MASQUERADE --to-ports 5-4", "-j MARK", "-j MARK --set-mark 1 --or-mark 2",
	"-j NFQUEUE --queue-num 5", "-j NFQUEUE --queue-balance 1:3 --queue-bypass", "-j NFQUEUE --queue-num x", "-j CT --helper ftp", "-j CT --ctevents new,mark", "-j CT --zone 99999", "-j SET --map-set cwip src", "-j SET --exist",
	"-j LOG --log-uid --log-tcp-options", "-j NFLOG --nflog-size 5 --nflog-threshold 6", "-j TCPMSS --set-mss 99999", "-j TPROXY --on-port 1 --on-ip x", "-j CONNMARK", "-m multiport --dports 1:", "-m owner --uid-owner 5-4", "-m physdev",
	"-m hashlimit --hashlimit-upto 1/s", "-m hashlimit --hashlimit-name h", "-m socket --restore-skmark", "-m rpfilter --loose", "-m conntrack --ctexpire 5:4", "-m recent --rttl", "-m mac --mac-source 0:1:2", "-m pkttype --pkt-type host",
	"-j LOG --log-level nine", "-j LOG --log-prefix \"a prefix that is much longer than\"", "-j TRACE", "-j ACCEPT -j DROP", "-j QUEUE", "-g QUEUE", "-4", "-6", "-v", "-n", "--line-numbers", "-t nat", "-w", "!", "! !", "--", "-", "-A A", "word",
	"-m set --match-set cwip src", "-m set --match-set nope src", "-m set --match-set cwip", "-m limit --limit 5/second", "-m limit --limit 0/second", "-m limit --limit-burst 0", "-m length --length 5:1", "-m iprange --src-range 1.1.1.1",
}

// command is a run of iptables.
func (g *textGen) command() textStep {
	t := tableHooks[g.r.IntN(len(tableHooks))]
	chain := g.oneOf(append(textChains[:len(textChains):len(textChains)], t.hooks...)...)
	line := "-t " + t.table + " "
	switch n := g.r.IntN(100); {
	case n < 45:
		line += g.oneOf("-A ", "-A ", "-I ", "-D ", "-C ") + chain + g.words(t.table, t.hooks, chain)
	case n < 50:
		line += "-R " + chain + " 1" + g.words(t.table, t.hooks, chain)
	case n < 65:
		line += "-N " + g.oneOf(chain, chain, chain, g.oneOf("TOS", "ECN", "HL", "AUDIT", "NAT", "standard", "ULOG", "QUEUE", "tcp", "MARK"))
	default:
		line += g.oneOf("-S", "-S "+chain, "-S "+chain+" 1", "-S -v", "-L -n", "-L -n -v", "-L "+chain+" -n --line-numbers", "-nvxL", "-F", "-F "+chain, "-X", "-X "+chain, "-Z", "-Z "+chain, "-Z "+chain+" 1", "-L -Z -n",
			"-P "+chain+" DROP", "-P "+chain+" ACCEPT", "-P "+chain+" RETURN", "-E A B", "-E "+chain+" C", "-E A TOS", "-D "+chain+" 1", "-D "+chain+" 9", "-I "+chain+" 9 -j ACCEPT", "-V", "--version", "-L "+chain+" 1 -n", "-nL "+chain, "-w -L -n", "-W 5 -L -n", "-w 3 -W 5 -S", "-nvL "+chain, "-nxvL --line-numbers", "-S "+chain+" -v", "-Z -L -n", "-v -F", "-v -X "+chain, "-v -Z "+chain, "-R "+chain+" 2 -j RETURN", "-D "+chain+" 1 -v")
	}
	if g.chance(30) {
		line = strings.Join(strings.Fields(g.damageTokens(line)), " ")
	}
	return textStep{Argv: append([]string{g.name("iptables")}, shellWords(line)...)}
}

// shellWords splits a line as far as the quotes of the generator need.
func shellWords(line string) []string {
	var words []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

func (g *textGen) nfacct() textStep {
	line := g.oneOf("list", "list json", "list xml", "list reset", "list reset json", "add cw-two", "add cw-one", "add cw-quota byte 500", "add cw-quota packet 2", "add", "get cw-one", "get nope", "get cw-quota", "get cw-one json",
		"del cw-two", "del nope", "del cw-one", "del", "flush", "get cw-one reset", "nope", "add "+strings.Repeat("n", 31), "add "+strings.Repeat("n", 32), "version", "add a b c", "flush x", "restore")
	if g.chance(20) {
		line = g.damageTokens(line)
	}
	s := textStep{Argv: append([]string{"nfacct"}, strings.Fields(line)...)}
	if line == "restore" {
		s.Stdin = g.oneOf("", "{ pkts = 00000000000000000003, bytes = 00000000000000000009 } = cw-back;\n", "{ pkts = 1, bytes = 2 } = cw-one;\n", "{ pkts = x", "{ pkts = 1, bytes = 2, quota = 3, mode = byte, overquota = no } = cw-q;\n")
		for g.chance(30) {
			s.Stdin = g.damageBytes(s.Stdin)
		}
	}
	return s
}

func (g *textGen) setCommand() textStep {
	if g.chance(30) {
		return g.setRestore()
	}
	line := g.oneOf(setLines...)
	if g.chance(20) {
		line = g.damageTokens(line)
	}
	return textStep{Argv: append([]string{"ipset"}, strings.Fields(line)...)}
}

// setRestore is a run of ipset restore.
func (g *textGen) setRestore() textStep {
	s := textStep{Argv: []string{"ipset", "restore"}}
	if g.chance(30) {
		s.Argv = append(s.Argv, "-exist")
	}
	for range 1 + g.r.IntN(5) {
		s.Stdin += g.oneOf(append(setLines[:len(setLines):len(setLines)], "COMMIT", "# a comment", "")...) + "\n"
	}
	for g.chance(30) {
		s.Stdin = g.damage(s.Stdin)
	}
	return s
}

// setLines are commands of ipset, right and wrong.
var setLines = []string{
	"list", "list cwip", "save", "save cwnet", "create cwnew hash:ip", "create cwnew hash:ip family inet6", "create cwip hash:ip", "create cwnew hash:nope", "destroy cwnew", "destroy cwip", "destroy nope", "add cwip 10.9.9.9", "add cwip fd00::9",
	"add cwip nope", "del cwip 10.9.9.9", "test cwip 10.78.1.2", "test cwip 10.78.1.9", "flush cwip", "flush", "create cwports bitmap:port range 1-100", "add cwports 50", "add cwports 500", "create cwlist list:set", "add cwlist cwip",
	"add cwlist nope", "rename cwnew cwother", "swap cwip cwnet", "add cwnet 10.0.0.0/8", "add cwnet 10.1.2.3/33", "add cwipport 10.1.1.1,tcp:80", "add cwipport 10.1.1.1,80", "list -t", "list -n", "version", "nope",
	"add cwip 10.9.9.9 -exist", "create cwip hash:ip -exist", "create \"cwnew\" hash:net", "create cwnew hash:ip comment", "add cwnew 10.1.1.1 comment \"a b\"", "list -o save", "list -o xml", "help",
}

// damage changes input of restore in one place.
func (g *textGen) damage(text string) string {
	lines := strings.SplitAfter(text, "\n")
	n := g.r.IntN(len(lines))
	switch g.r.IntN(8) {
	case 0:
		lines[n] = ""
	case 1:
		lines[n] += lines[n]
	case 2:
		k := g.r.IntN(len(lines))
		lines[n], lines[k] = lines[k], lines[n]
	case 3:
		return strings.TrimSuffix(text, "\n")
	case 4, 5:
		lines[n] = g.damageTokens(strings.TrimSuffix(lines[n], "\n")) + "\n"
	default:
		return g.damageBytes(text)
	}
	return strings.Join(lines, "")
}

// damageTokens drops, doubles, swaps or replaces a word.
func (g *textGen) damageTokens(line string) string {
	words := strings.Fields(line)
	if len(words) == 0 {
		return g.oneOf(textExtras...)
	}
	n := g.r.IntN(len(words))
	switch g.r.IntN(6) {
	case 0:
		words[n] = ""
	case 1:
		words[n] += " " + words[n]
	case 2:
		k := g.r.IntN(len(words))
		words[n], words[k] = words[k], words[n]
	case 3:
		words[n] = g.oneOf(textExtras...)
	case 4:
		words[n] = g.oneOf("", "0", "-1", "99999999999", "!", "-", "--", "x", ",", "1.2.3.4", "::1", "[0:0]", "[1:2", ":", "/", "10.0.0.0/33", strings.Repeat("L", 29), strings.Repeat("q", 300)) + g.oneOf("", words[n])
	default:
		words[n] = g.damageBytes(words[n])
	}
	return strings.Join(words, " ")
}

// damageBytes changes, inserts or drops a byte.
func (g *textGen) damageBytes(text string) string {
	if text == "" {
		return text
	}
	n := g.r.IntN(len(text))
	special := "!\"'\\ \t-:,/[]*#@\n+=.~0aZ\x01\x7f\xc3"
	b := string(special[g.r.IntN(len(special))])
	switch g.r.IntN(3) {
	case 0:
		return text[:n] + b + text[n:]
	case 1:
		return text[:n] + text[n+1:]
	}
	return text[:n] + b + text[n+1:]
}
