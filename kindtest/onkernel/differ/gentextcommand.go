package differ

import "strings"

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
		line += g.oneOf("-S", "-S "+chain, "-S "+chain+" 1", "-S -v", "-L -n", "-L -n -v", "-L "+chain+" -n --line-numbers", "-nvxL", "-F",
			"-F "+chain, "-X", "-X "+chain, "-Z", "-Z "+chain, "-Z "+chain+" 1", "-L -Z -n",
			"-P "+chain+" DROP", "-P "+chain+" ACCEPT", "-P "+chain+" RETURN", "-E A B", "-E "+chain+" C", "-E A TOS", "-D "+chain+" 1",
			"-D "+chain+" 9", "-I "+chain+" 9 -j ACCEPT", "-V", "--version", "-L "+chain+" 1 -n", "-nL "+chain, "-w -L -n", "-W 5 -L -n",
			"-w 3 -W 5 -S", "-nvL "+chain, "-nxvL --line-numbers", "-S "+chain+" -v", "-Z -L -n", "-v -F", "-v -X "+chain, "-v -Z "+chain,
			"-R "+chain+" 2 -j RETURN", "-D "+chain+" 1 -v")
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
